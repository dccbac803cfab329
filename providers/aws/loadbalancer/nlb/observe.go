package nlb

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

const (
	// listAge is how old the shared lists may be. It only has to span a burst: a restart that looks
	// at every Service within seconds reads them once. Beyond that it is how long a load balancer
	// deleted by hand may stay unnoticed by a reconcile that happens anyway.
	listAge = 30 * time.Second
	// confirmAge is how old the shared lists may be when a creation or a deletion takes them for its own
	// read: they were read for the same Service, or for one beside it.
	confirmAge = 5 * time.Second
	// detailAge is how old what is read for each load balancer may be: listeners, attributes and
	// targets. The audit reads them anew every 30 minutes, so that they grow older only without it.
	detailAge = 40 * time.Minute
	// settleTime is how long AWS may take to show in lists what we have just made or deleted. It
	// documents no bound; until then our own word counts.
	settleTime = 2 * time.Minute
)

// balancerRecord is what is known of one load balancer.
type balancerRecord struct {
	Balancer
	listeners  []Listener
	attributes map[string]string
	detailAt   time.Time
	// made is when we created it, writtenAt the count of writes when we last changed it.
	made      time.Time
	writtenAt uint64
}

// groupRecord is what is known of one target group.
type groupRecord struct {
	TargetGroup
	detailAt  time.Time
	made      time.Time
	writtenAt uint64
}

// Store is what all Services know together: shared lists of load balancers and target groups, and
// for each load balancer what only a call of its own tells. Our own writes keep it true. It is
// never the truth: before anything is created or deleted, one load balancer is read again.
type Store struct {
	options Options
	// turn is held by the one caller that reads the lists; others wait and find its result.
	turn locks.Mutex

	mu        sync.Mutex
	listedAt  time.Time
	balancers map[string]balancerRecord
	groups    map[string]groupRecord
	// tags of objects by ARN, with the time at which they were read. Lists don't have them.
	tags map[string]tagRecord
	// gone are objects that we deleted, which lists may still show for a while.
	gone map[string]time.Time
	// doubted are Services with a write that failed in a way that leaves open what was done.
	doubted map[string]bool
	// expected is what Services were last seen to ask for.
	expected map[string]expectation
	// askedAt is when one of them last changed.
	askedAt time.Time
	writes  uint64
}

type tagRecord struct {
	tags   map[string]string
	readAt time.Time
}

func newStore(o Options) *Store {
	return &Store{
		options:   o,
		balancers: map[string]balancerRecord{}, groups: map[string]groupRecord{}, tags: map[string]tagRecord{},
		gone: map[string]time.Time{}, doubted: map[string]bool{}, expected: map[string]expectation{},
	}
}

// serviceName is what Services are told apart by in the store.
func serviceName(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }

// Observe returns what exists of a Service's load balancer.
func (s *Store) Observe(ctx context.Context, key lbcommon.Key, fresh lbcommon.Freshness) (Observed, error) {
	if fresh == lbcommon.Authoritative || s.inDoubt(key) {
		if err := s.readOne(ctx, key, true); err != nil {
			return Observed{}, err
		}
		return s.view(ctx, key)
	}
	if err := s.lists(ctx); err != nil {
		return Observed{}, err
	}
	if err := s.readDetails(ctx, key); err != nil {
		return Observed{}, err
	}
	return s.view(ctx, key)
}

// Inventory is Observe without the settings of what exists: enough to delete it.
func (s *Store) Inventory(ctx context.Context, key lbcommon.Key, fresh lbcommon.Freshness) (Observed, error) {
	read := s.lists
	if fresh == lbcommon.Authoritative || s.inDoubt(key) {
		read = func(ctx context.Context) error { return s.readOne(ctx, key, false) }
	}
	if err := read(ctx); err != nil {
		return Observed{}, err
	}
	return s.view(ctx, key)
}

// lists makes sure that the shared lists are fresh.
func (s *Store) lists(ctx context.Context) error {
	if s.listedWithin(listAge) {
		return nil
	}
	done, err := s.turn.Lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.listedWithin(listAge) {
		return nil
	}
	return s.refresh(ctx)
}

func (s *Store) listedWithin(age time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.listedAt.IsZero() && s.options.Clock.Since(s.listedAt) < age
}

// refresh reads the lists, and the tags that are not known yet of what may be a Service's.
func (s *Store) refresh(ctx context.Context) error {
	started, before := s.options.Clock.Now(), s.countWrites()
	balancers, err := s.listBalancers(ctx)
	if err != nil {
		return err
	}
	groups, err := s.listGroups(ctx)
	if err != nil {
		return err
	}
	var unknown []string
	s.mu.Lock()
	s.takeBalancers(balancers, started, before)
	s.takeGroups(groups, started, before)
	for arn, b := range s.balancers {
		if b.VPC == s.options.VPC && !s.knowsTags(arn) {
			unknown = append(unknown, arn)
		}
	}
	for arn, g := range s.groups {
		// Those in use are found through their load balancer.
		if g.VPC == s.options.VPC && len(g.Balancers) == 0 && !s.knowsTags(arn) {
			unknown = append(unknown, arn)
		}
	}
	s.mu.Unlock()
	slices.Sort(unknown)
	if err := s.readTags(ctx, unknown); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listedAt = started
	return nil
}

// takeBalancers takes over a list that was begun when there had been so many writes. The lock is held.
func (s *Store) takeBalancers(list []Balancer, started time.Time, before uint64) {
	seen := map[string]bool{}
	for _, b := range list {
		seen[b.ARN] = true
		if at, deleted := s.gone[b.ARN]; deleted && started.Sub(at) < settleTime {
			continue
		}
		if old := s.balancers[b.ARN]; old.writtenAt <= before {
			old.Balancer = b
			s.balancers[b.ARN] = old
		}
	}
	for arn, old := range s.balancers {
		if !seen[arn] && old.writtenAt <= before && (old.made.IsZero() || started.Sub(old.made) >= settleTime) {
			delete(s.balancers, arn)
			delete(s.tags, arn)
		}
	}
	for arn, at := range s.gone {
		if started.Sub(at) >= settleTime {
			delete(s.gone, arn)
		}
	}
}

func (s *Store) takeGroups(list []TargetGroup, started time.Time, before uint64) {
	seen := map[string]bool{}
	for _, g := range list {
		seen[g.ARN] = true
		if at, deleted := s.gone[g.ARN]; deleted && started.Sub(at) < settleTime {
			continue
		}
		s.takeGroup(g, before)
	}
	for arn, old := range s.groups {
		if !seen[arn] && old.writtenAt <= before && (old.made.IsZero() || started.Sub(old.made) >= settleTime) {
			delete(s.groups, arn)
			delete(s.tags, arn)
		}
	}
}

// takeGroup takes over a target group from a list, which knows neither its targets nor its attributes.
func (s *Store) takeGroup(g TargetGroup, before uint64) {
	old := s.groups[g.ARN]
	if old.writtenAt > before {
		return
	}
	g.Targets, g.Attributes = old.Targets, old.Attributes
	old.TargetGroup = g
	s.groups[g.ARN] = old
}

// knowsTags says whether an object's tags need not be read again. The lock is held.
func (s *Store) knowsTags(arn string) bool {
	t, ok := s.tags[arn]
	return ok && s.options.Clock.Since(t.readAt) < detailAge
}

// find returns the ARN of the Service's load balancer, or "" if there is none. The lock is held.
func (s *Store) find(key lbcommon.Key) (arn string) {
	name := DefaultName(key)
	for candidate, b := range s.balancers {
		if b.Name == name {
			return candidate
		}
		// A name of the Service's choice is found by its tags; the smallest ARN, so that the answer never varies.
		if b.VPC == s.options.VPC && (arn == "" || candidate < arn) && tags.IsFor(s.tags[candidate].tags, s.options.Cluster.ID, key) {
			arn = candidate
		}
	}
	return arn
}

// isLeftover says whether a target group is the Service's, and nobody forwards to it. The lock is held.
func (s *Store) isLeftover(arn string, key lbcommon.Key) bool {
	g := s.groups[arn]
	return len(g.Balancers) == 0 && g.VPC == s.options.VPC && tags.IsFor(s.tags[arn].tags, s.options.Cluster.ID, key)
}

// groupsOf returns the ARNs of the target groups of a Service, sorted. The lock is held.
func (s *Store) groupsOf(key lbcommon.Key, balancer string) []string {
	var arns []string
	for arn, g := range s.groups {
		if balancer != "" && slices.Contains(g.Balancers, balancer) || s.isLeftover(arn, key) {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	return arns
}

// view puts together what is known.
func (s *Store) view(ctx context.Context, key lbcommon.Key) (Observed, error) {
	groups, err := s.options.Groups.Get(ctx, vpc.GroupQuery{})
	if err != nil {
		return Observed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have := Observed{Groups: groups}
	arn := s.find(key)
	if b, ok := s.balancers[arn]; ok {
		balancer := b.Balancer
		balancer.Tags = s.tags[arn].tags
		have.Balancer = &balancer
		have.Attributes = b.attributes
		if b.listeners != nil {
			have.Listeners = make([]Listener, len(b.listeners))
			for i, l := range b.listeners {
				l.Tags = s.tags[l.ARN].tags
				have.Listeners[i] = l
			}
		}
	}
	for other, b := range s.balancers {
		if other != arn {
			have.UsedElsewhere = append(have.UsedElsewhere, b.SecurityGroups...)
		}
	}
	for _, g := range s.groupsOf(key, arn) {
		group := s.groups[g].TargetGroup
		group.Tags = s.tags[g].tags
		have.TargetGroups = append(have.TargetGroups, group)
	}
	slices.SortFunc(have.TargetGroups, func(a, b TargetGroup) int { return strings.Compare(a.Name, b.Name) })
	return have, nil
}

// inDoubt says whether nobody knows how far a write of the Service's got.
func (s *Store) inDoubt(key lbcommon.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubted[serviceName(key)]
}

// doubt makes the next look at a Service's load balancer a read.
func (s *Store) doubt(key lbcommon.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted[serviceName(key)] = true
}

func (s *Store) countWrites() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}
