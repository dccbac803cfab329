package classic

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// listAge is the max age of the shared list of load balancers. It only has to span a burst, such as a
	// restart that reconciles every Service within seconds.
	listAge = 30 * time.Second
	// detailAge is the max age of tags and attributes, which need additional calls. Our own writes update them;
	// the audit finds changes of other clients at this interval.
	detailAge = 30 * time.Minute
	// settleTime bounds how long reads may miss a new load balancer.
	settleTime = time.Minute

	// listPage and tagPage are the maximum sizes in the API reference.
	listPage = 400
	tagPage  = 20
)

// depth selects the details of a load balancer that are read.
type depth int

const (
	// shallow is the description.
	shallow depth = iota
	// marked adds its tags.
	marked
	// full adds its attributes.
	full
)

// store is the snapshot that all Services share. Its tables are keyed by name, which is the owner of
// uncertain outcomes as well.
type store struct {
	api   api.ELB
	state *snapshot.Store
	// balancers have neither tags nor attributes, which need additional calls.
	balancers  *snapshot.Table[Balancer]
	tags       *snapshot.Table[map[string]string]
	attributes *snapshot.Table[Attributes]
	// tagReads serializes reads of tags.
	tagReads   locks.Mutex
	unfinished *refusal.Memory[removed]
}

func newStore(client api.ELB, c clock.PassiveClock) *store {
	s := &store{api: client, state: snapshot.NewStore(c), unfinished: refusal.NewMemory[removed](c)}
	s.balancers = snapshot.NewTable(s.state, snapshot.Kind[Balancer]{
		ID: func(b Balancer) string { return b.Name }, List: s.list, MaxAge: listAge, Settle: settleTime,
	})
	s.tags = snapshot.NewTable(s.state, snapshot.Kind[map[string]string]{MaxAge: detailAge})
	s.attributes = snapshot.NewTable(s.state, snapshot.Kind[Attributes]{MaxAge: detailAge})
	s.balancers.AddDetails(s.tags, s.attributes)
	return s
}

// observe returns a load balancer from the snapshot, or nil if there is none; fresh reads it.
func (s *store) observe(ctx context.Context, name string, fresh bool, d depth) (*Balancer, error) {
	if err := s.balancers.Refresh(ctx); err != nil {
		return nil, err
	}
	if fresh || s.state.IsUncertain(name) {
		return s.read(ctx, name, d)
	}
	if _, exists := s.balancers.Get(name); !exists {
		return nil, nil
	}
	if err := s.readDetails(ctx, name, d); err != nil {
		return s.confirmMissing(ctx, name, err)
	}
	return s.get(name), nil
}

// confirmMissing reads the load balancer after a read of its details did not find it.
func (s *store) confirmMissing(ctx context.Context, name string, err error) (*Balancer, error) {
	if !cloudapi.Is(err, cloudapi.NotFound) {
		return nil, err
	}
	have, readErr := s.read(ctx, name, shallow)
	if readErr != nil || have == nil {
		return nil, readErr
	}
	return nil, err // It exists, and its tags do not: AWS is eventually consistent.
}

// read reads one load balancer with its details.
func (s *store) read(ctx context.Context, name string, d depth) (*Balancer, error) {
	r := s.state.Begin()
	out, err := s.api.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}})
	err = awserr.Wrap("DescribeLoadBalancers", err)
	switch {
	case err != nil && !cloudapi.Is(err, cloudapi.NotFound):
		return nil, err
	case err == nil && len(out.LoadBalancerDescriptions) == 1:
		s.balancers.Merge(r, name, toBalancer(out.LoadBalancerDescriptions[0]))
	default:
		s.balancers.MergeMissing(r, name)
	}
	s.tags.Forget(name)
	s.attributes.Forget(name)
	s.state.Confirm(name, r)
	if _, exists := s.balancers.Get(name); exists && d > shallow {
		if err := s.readDetails(ctx, name, d); err != nil && !s.isSettling(name, err) {
			return nil, err
		}
	}
	return s.get(name), nil
}

// readDetails reads the tags and attributes that are not fresh, as far as the depth includes them.
func (s *store) readDetails(ctx context.Context, name string, d depth) error {
	if d >= marked && !s.tags.Fresh(name) {
		if err := s.readTags(ctx, name); err != nil {
			return err
		}
	}
	if d >= full && !s.attributes.Fresh(name) {
		return s.readAttributes(ctx, name)
	}
	return nil
}

// isSettling reports whether an error only means that AWS does not show a load balancer yet that we created.
func (s *store) isSettling(name string, err error) bool {
	return cloudapi.Is(err, cloudapi.NotFound) && s.balancers.Settling(name)
}

// list reads all load balancers.
func (s *store) list(ctx context.Context) ([]Balancer, error) {
	pages := elb.NewDescribeLoadBalancersPaginator(s.api, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(listPage)})
	return awserr.Collect(ctx, "DescribeLoadBalancers", pages, func(page *elb.DescribeLoadBalancersOutput) []Balancer {
		return api.Convert(page.LoadBalancerDescriptions, toBalancer)
	})
}

// readTags reads the tags of one load balancer, together with those of others that will be needed.
func (s *store) readTags(ctx context.Context, name string) error {
	unlock, err := s.tagReads.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if s.tags.Fresh(name) {
		return nil
	}
	batch := s.tagBatch(name)
	err = s.readTagBatch(ctx, batch)
	if len(batch) > 1 && cloudapi.Is(err, cloudapi.NotFound) {
		err = s.readTagBatch(ctx, []string{name}) // One of the others was deleted, for which AWS rejects the whole call.
	}
	return err
}

// tagBatch returns a name and other names of this manager with unknown tags, as many as one call accepts.
func (s *store) tagBatch(name string) []string {
	batch := []string{name}
	for _, other := range slices.Sorted(maps.Keys(s.balancers.All())) {
		skip := other == name || s.tags.Fresh(other) || s.state.IsUncertain(other) || !names.IsLoadBalancerName(other)
		if len(batch) < tagPage && !skip {
			batch = append(batch, other)
		}
	}
	return batch
}

func (s *store) readTagBatch(ctx context.Context, batch []string) error {
	r := s.state.Begin()
	out, err := s.api.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: batch})
	if err != nil {
		return awserr.Wrap("DescribeTags", err)
	}
	for _, d := range out.TagDescriptions {
		tags := api.ToMap(d.Tags, func(t elbtypes.Tag) (key, value *string) { return t.Key, t.Value })
		s.tags.Merge(r, aws.ToString(d.LoadBalancerName), tags)
	}
	return nil
}

func (s *store) readAttributes(ctx context.Context, name string) error {
	r := s.state.Begin()
	out, err := s.api.DescribeLoadBalancerAttributes(ctx,
		&elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: &name})
	if err != nil {
		return awserr.Wrap("DescribeLoadBalancerAttributes", err)
	}
	s.attributes.Merge(r, name, toAttributes(out.LoadBalancerAttributes))
	return nil
}

// get returns a load balancer with its cached tags and attributes, nil if there is none.
func (s *store) get(name string) *Balancer {
	b, exists := s.balancers.Get(name)
	if !exists {
		return nil
	}
	b.Tags, _ = s.tags.Get(name)
	b.Attributes, _ = s.attributes.Get(name)
	return &b
}

// create adds a load balancer that was created.
func (s *store) create(b Balancer) {
	s.balancers.Create(b.Name, b)
	s.tags.Create(b.Name, b.Tags)
	s.attributes.Create(b.Name, b.Attributes)
}

// updateTags changes a copy of the tags of a load balancer after a write.
func (s *store) updateTags(name string, change func(tags map[string]string)) {
	s.tags.Update(name, func(tags *map[string]string) {
		after := map[string]string{}
		maps.Copy(after, *tags)
		change(after)
		*tags = after
	})
}

// sharedGroups returns the security groups that load balancers other than this one use.
func (s *store) sharedGroups(name string) map[string]bool {
	groups := map[string]bool{}
	for other, b := range s.balancers.All() {
		if other == name {
			continue
		}
		for _, id := range b.Groups {
			groups[id] = true
		}
	}
	return groups
}
