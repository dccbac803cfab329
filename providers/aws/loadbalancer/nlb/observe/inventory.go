package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
)

// Listed has the load balancers and target groups of the VPC, with their tags. Each list has its own error.
type Listed struct {
	Balancers    []model.Balancer
	BalancersErr error
	Groups       []model.TargetGroup
	GroupsErr    error
	// Listeners are those of each load balancer that a cluster has marked, by its ARN.
	Listeners    map[string][]model.Listener
	ListenersErr error
}

// List returns the shared lists. With parts, it also reads the listeners, one call for each load balancer.
func (s *Store) List(ctx context.Context, parts bool) Listed {
	var l Listed
	if l.BalancersErr = s.balancers.Refresh(ctx); l.BalancersErr == nil {
		for _, b := range s.balancers.All() {
			if b.VPC == s.options.VPC {
				b.Tags, _ = s.tags.Get(b.ARN)
				l.Balancers = append(l.Balancers, b)
			}
		}
		sorting.Func(l.Balancers, func(a, b model.Balancer) int { return cmp.Compare(a.ARN, b.ARN) })
	}
	if l.GroupsErr = s.listGroupTags(ctx); l.GroupsErr == nil {
		for _, g := range s.groups.All() {
			if g.VPC == s.options.VPC {
				g.Tags, _ = s.tags.Get(g.ARN)
				l.Groups = append(l.Groups, g)
			}
		}
		sorting.Func(l.Groups, func(a, b model.TargetGroup) int { return cmp.Compare(a.ARN, b.ARN) })
	}
	if parts {
		l.Listeners, l.ListenersErr = s.listListeners(ctx, l.Balancers)
	}
	return l
}

// listGroupTags lists the target groups, and reads the tags of those in use, which the shared list omits.
func (s *Store) listGroupTags(ctx context.Context) error {
	if err := s.groups.Refresh(ctx); err != nil {
		return err
	}
	var unread []string
	for arn, g := range s.groups.All() {
		if g.VPC == s.options.VPC && !s.tags.Fresh(arn) {
			unread = append(unread, arn)
		}
	}
	slices.Sort(unread)
	return s.readTags(ctx, unread)
}

// listListeners reads the listeners of the load balancers that a cluster has marked.
func (s *Store) listListeners(ctx context.Context, balancers []model.Balancer) (map[string][]model.Listener, error) {
	lists := make([][]model.Listener, len(balancers))
	work, ctx := newReads(ctx)
	for i, b := range balancers {
		if tags.Marked(b.Tags) {
			work.Go(func() (err error) {
				lists[i], err = s.describeListeners(ctx, b.ARN)
				return cloudapi.IgnoreNotFound(err)
			})
		}
	}
	err := work.Wait()
	found := map[string][]model.Listener{}
	for i, b := range balancers {
		if len(lists[i]) > 0 {
			found[b.ARN] = lists[i]
		}
	}
	return found, err
}
