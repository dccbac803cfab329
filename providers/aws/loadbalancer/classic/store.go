package classic

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// listAge is how old the shared list of load balancers may be. It only has to span a burst,
	// such as a restart that looks at every Service within seconds.
	listAge = 30 * time.Second
	// detailAge is how old tags and attributes may be, which take calls of their own. Our own
	// writes keep them true; what somebody else changes, the audit finds at this pace.
	detailAge = 30 * time.Minute
	// settleTime is how long AWS may take to show a new load balancer to reads; until then one
	// that we made and that a list lacks is taken to exist.
	settleTime = time.Minute

	// listPage and tagPage are the largest that the API reference allows.
	listPage = 400
	tagPage  = 20
)

// ourName matches the names that the manager gives: tags of such load balancers are read together.
var ourName = regexp.MustCompile(`^a[0-9a-f]{31}$`)

// depth says how much of a load balancer is read.
type depth int

const (
	// shallow is what describes it.
	shallow depth = iota
	// marked adds its tags.
	marked
	// full adds its attributes.
	full
)

// store is the snapshot that all Services share: one bulk read serves everybody until it is too
// old, and our own writes keep it true in the meantime.
type store struct {
	api   api.ELB
	clock clock.PassiveClock
	// listing and tagging are held by the one caller that reads.
	listing, tagging locks.Mutex

	mu      sync.Mutex
	entries map[string]*entry
	readAt  time.Time
	// writes counts our own writes, so that a read knows which of them it may have missed.
	writes uint64
}

// entry is what is known of one load balancer. Entries are replaced, never changed.
type entry struct {
	// balancer is nil if there is none; its tags and attributes are not filled in.
	balancer   *Balancer
	tags       map[string]string
	tagsAt     time.Time
	attributes Attributes
	attrsAt    time.Time
	writtenAt  uint64
	madeAt     time.Time
	// stale says that a write failed in a way that leaves open what was done.
	stale bool
}

func newStore(client api.ELB, c clock.PassiveClock) *store {
	return &store{api: client, clock: c, entries: map[string]*entry{}}
}

// cached returns a load balancer, or nil if there is none, out of the snapshot; fresh reads it.
func (s *store) cached(ctx context.Context, name string, fresh bool, d depth) (*Balancer, error) {
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	if fresh || s.get(name).stale {
		return s.read(ctx, name, d)
	}
	return s.complete(ctx, name, d)
}

// complete returns what is known, and reads the tags and attributes that are not.
func (s *store) complete(ctx context.Context, name string, d depth) (*Balancer, error) {
	e := s.get(name)
	if e.balancer == nil {
		return nil, nil
	}
	if d >= marked && !s.recent(e.tagsAt) {
		if err := s.readTags(ctx, name); err != nil {
			return s.vanished(ctx, name, err)
		}
	}
	if d >= full && !s.recent(e.attrsAt) {
		if err := s.readAttributes(ctx, name); err != nil {
			return s.vanished(ctx, name, err)
		}
	}
	return s.get(name).whole(), nil
}

// vanished takes "no such load balancer" for the answer that it is, once the load balancer itself was asked for.
func (s *store) vanished(ctx context.Context, name string, err error) (*Balancer, error) {
	if !cloudapi.Is(err, cloudapi.NotFound) {
		return nil, err
	}
	have, readErr := s.read(ctx, name, shallow)
	if readErr != nil || have == nil {
		return nil, readErr
	}
	return nil, err // It exists, and its tags do not: AWS does not agree with itself yet.
}

// read asks AWS about one load balancer.
func (s *store) read(ctx context.Context, name string, d depth) (*Balancer, error) {
	before := s.countWrites()
	out, err := s.api.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}})
	err = awserr.Wrap("DescribeLoadBalancers", err)
	var found *Balancer
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
	case err != nil:
		return nil, err
	case len(out.LoadBalancerDescriptions) == 1:
		b := toBalancer(out.LoadBalancerDescriptions[0])
		found = &b
	}
	s.mu.Lock()
	if e := s.lockedGet(name); e.writtenAt <= before {
		if found == nil && e.balancer != nil && s.clock.Since(e.madeAt) < settleTime {
			found = e.balancer
		}
		s.entries[name] = &entry{balancer: found, writtenAt: e.writtenAt, madeAt: e.madeAt}
	}
	s.mu.Unlock()
	if found == nil || d == shallow {
		return s.get(name).whole(), nil
	}
	return s.details(ctx, name, d)
}

// details reads tags and attributes of a load balancer that has just been read.
func (s *store) details(ctx context.Context, name string, d depth) (*Balancer, error) {
	if err := s.readTags(ctx, name); err != nil && !s.isNew(name, err) {
		return nil, err
	}
	if d >= full {
		if err := s.readAttributes(ctx, name); err != nil && !s.isNew(name, err) {
			return nil, err
		}
	}
	return s.get(name).whole(), nil
}

// isNew says whether an error only means that AWS does not show a load balancer yet that we made.
func (s *store) isNew(name string, err error) bool {
	return cloudapi.Is(err, cloudapi.NotFound) && s.clock.Since(s.get(name).madeAt) < settleTime
}

// refresh reads the list of all load balancers if it is too old. Callers that come while one is
// reading wait for it.
func (s *store) refresh(ctx context.Context) error {
	if s.isFresh() {
		return nil
	}
	done, err := s.listing.Lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.isFresh() {
		return nil
	}
	before, started := s.countWrites(), s.clock.Now()
	read := map[string]*Balancer{}
	pages := elb.NewDescribeLoadBalancersPaginator(s.api, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(listPage)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awserr.Wrap("DescribeLoadBalancers", err)
		}
		for _, in := range page.LoadBalancerDescriptions {
			b := toBalancer(in)
			read[b.Name] = &b
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merge(read, before)
	s.readAt = started
	return nil
}

// merge takes over a list. What was written while it was read is newer, and what was made a moment
// ago may not be in it yet. The lock is held.
func (s *store) merge(read map[string]*Balancer, before uint64) {
	entries := make(map[string]*entry, len(read))
	for name, b := range read {
		e := *s.lockedGet(name)
		e.balancer = b
		entries[name] = &e
	}
	for name, e := range s.entries {
		_, seen := read[name]
		switch {
		case e.writtenAt > before, e.balancer != nil && !seen && s.clock.Since(e.madeAt) < settleTime:
			entries[name] = e
		case e.stale && !seen:
			entries[name] = &entry{stale: true, writtenAt: e.writtenAt}
		}
	}
	s.entries = entries
}

// readTags reads the tags of one load balancer, together with those of others that will be asked for.
func (s *store) readTags(ctx context.Context, name string) error {
	done, err := s.tagging.Lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.recent(s.get(name).tagsAt) {
		return nil
	}
	batch := s.untagged(name)
	err = s.readTagsOf(ctx, batch)
	if len(batch) > 1 && cloudapi.Is(err, cloudapi.NotFound) {
		err = s.readTagsOf(ctx, []string{name}) // One of the others has gone, which refuses the whole call.
	}
	return err
}

// untagged returns a name and others whose tags are not known, as many as one call takes.
func (s *store) untagged(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := []string{name}
	for _, other := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[other]
		if len(batch) < tagPage && other != name && e.balancer != nil && !e.stale && ourName.MatchString(other) && s.clock.Since(e.tagsAt) >= detailAge {
			batch = append(batch, other)
		}
	}
	return batch
}

func (s *store) readTagsOf(ctx context.Context, batch []string) error {
	before, started := s.countWrites(), s.clock.Now()
	out, err := s.api.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: batch})
	if err != nil {
		return awserr.Wrap("DescribeTags", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range out.TagDescriptions {
		name := aws.ToString(d.LoadBalancerName)
		e := *s.lockedGet(name)
		if e.writtenAt > before {
			continue
		}
		e.tags, e.tagsAt = make(map[string]string, len(d.Tags)), started
		for _, tag := range d.Tags {
			e.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		s.entries[name] = &e
	}
	return nil
}

func (s *store) readAttributes(ctx context.Context, name string) error {
	before, started := s.countWrites(), s.clock.Now()
	out, err := s.api.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: &name})
	if err != nil {
		return awserr.Wrap("DescribeLoadBalancerAttributes", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := *s.lockedGet(name); e.writtenAt <= before {
		e.attributes, e.attrsAt = toAttributes(out.LoadBalancerAttributes), started
		s.entries[name] = &e
	}
	return nil
}
