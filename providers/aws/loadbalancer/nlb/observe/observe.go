// Package observe reads the existing objects of network load balancers. All Services share one snapshot of the
// account's objects: lists fill it, and the changes of plans are recorded there. Its files are in layers, and refer
// only to earlier ones: convert.go, describe.go, store.go, then write.go and find.go, then record.go, read.go, and
// observe.go and inventory.go with what other packages read.
package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Observe returns the existing objects of a Service's load balancer, or the error of a read.
//
// It does not read details that the applied record proves to equal the desired state, unless the observation is
// authoritative. A nil want proves nothing.
func (s *Store) Observe(ctx context.Context, key lbcommon.Key, want *model.Desired,
	fresh lbcommon.Freshness) (model.Observed, error) {
	if want != nil {
		texts := map[string]string{}
		for _, l := range want.Listeners {
			texts[l.Place()] = l.Text()
		}
		s.unfinished.Keep(string(key.UID), texts)
	}
	if err := s.readFull(ctx, key, want, fresh); err != nil {
		return model.Observed{}, err
	}
	have, err := s.view(ctx, key)
	if err == nil && want != nil && have.Balancer != nil {
		have.Listeners = s.withRemoved(key, have.Listeners, *want)
	}
	return have, err
}

// readFull makes sure that the objects of a Service and their settings are fresh.
func (s *Store) readFull(ctx context.Context, key lbcommon.Key, want *model.Desired, fresh lbcommon.Freshness) error {
	if fresh == lbcommon.Authoritative || s.state.IsUncertain(serviceName(key)) {
		return s.readService(ctx, key, true)
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return s.readDetails(ctx, key, want)
}

// withRemoved returns listeners with those that were deleted for others that do not exist yet: the plan is still that
// these are replaced, with the same cause. Nothing is unfinished at the ports of those that exist, also if the reply to
// their creation was lost.
func (s *Store) withRemoved(key lbcommon.Key, have []model.Listener, want model.Desired) []model.Listener {
	for _, w := range want.Listeners {
		i := slices.IndexFunc(have, func(l model.Listener) bool { return l.Port == w.Port })
		if i >= 0 {
			if have[i].Protocol == w.Protocol {
				s.unfinished.Made(string(key.UID), w.Place())
			}
			continue
		}
		for _, l := range s.unfinished.Removed(string(key.UID), w.Place()) {
			l.Removed = true
			have = append(have, l)
		}
	}
	sorting.Func(have, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	return have
}

// Inventory is Observe without settings: enough to delete the objects.
func (s *Store) Inventory(ctx context.Context, key lbcommon.Key, fresh lbcommon.Freshness) (model.Observed, error) {
	read := s.refresh
	if fresh == lbcommon.Authoritative || s.state.IsUncertain(serviceName(key)) {
		read = func(ctx context.Context) error { return s.readService(ctx, key, false) }
	}
	if err := read(ctx); err != nil {
		return model.Observed{}, err
	}
	return s.view(ctx, key)
}

// groupsOfOthers returns the security groups that load balancers other than this one use.
func (s *Store) groupsOfOthers(arn string) map[string]bool {
	groups := map[string]bool{}
	for other, b := range s.balancers.All() {
		if other == arn {
			continue
		}
		for _, id := range b.SecurityGroups {
			groups[id] = true
		}
	}
	return groups
}

// view assembles the cached state of a Service's load balancer.
func (s *Store) view(ctx context.Context, key lbcommon.Key) (model.Observed, error) {
	groups, err := s.options.Groups.Get(ctx, vpc.GroupQuery{})
	if err != nil {
		return model.Observed{}, err
	}
	arn := s.findBalancer(key)
	have := model.Observed{VPC: s.options.VPC, Groups: groups.WithUsed(s.groupsOfOthers(arn))}
	if b, exists := s.balancers.Get(arn); exists {
		b.Tags, _ = s.tags.Get(arn)
		have.Balancer = &b
		have.Attributes, _ = s.attributes.Get(arn)
		listeners, _ := s.listeners.Get(arn)
		have.Listeners = slices.Clone(listeners)
		for i := range have.Listeners {
			have.Listeners[i].Tags, _ = s.tags.Get(have.Listeners[i].ARN)
		}
	}
	for _, arn := range s.groupsOf(key, arn) {
		if g, exists := s.Group(arn); exists {
			g.Attributes, _ = s.groupAttributes.Get(arn)
			g.Tags, _ = s.tags.Get(arn)
			have.TargetGroups = append(have.TargetGroups, g)
		}
	}
	sorting.Func(have.TargetGroups, func(a, b model.TargetGroup) int { return strings.Compare(a.Name, b.Name) })
	return have, nil
}
