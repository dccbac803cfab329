package classic

import (
	"context"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Observe reads the existing objects of a Service's load balancer, including orphans without one. A cached
// observation makes no call while the shared lists are fresh. A want of nil is unknown.
func (c *Cloud) Observe(ctx context.Context, key lbcommon.Key, want *Desired, fresh lbcommon.Freshness) (Observed,
	error) {
	if want != nil {
		c.store.unfinished.Keep(want.Name, textsOf(want.Listeners, want.Subnets, want.Zones))
	}
	have, err := c.observe(ctx, key, fresh == lbcommon.Authoritative, full)
	if err == nil && want != nil && have.Balancer != nil {
		have.Balancer.Listeners = c.withRemoved(want.Name, have.Balancer.Listeners, want.Listeners)
	}
	return have, err
}

// withRemoved returns listeners with those that were deleted for others that do not exist yet: the plan is still that
// these are replaced, with the same cause. Nothing is unfinished at the ports of those that exist, also if the reply to
// their creation was lost.
func (c *Cloud) withRemoved(name string, have, want []Listener) []Listener {
	have = slices.Clone(have)
	for _, w := range want {
		if slices.ContainsFunc(have, w.sameImmutableFields) {
			c.store.unfinished.Made(name, w.place())
		}
	}
	for _, r := range c.store.unfinished.Removed(name, api.Convert(want, Listener.place)...) {
		if !hasPort(have, r.listener.Port) {
			r.listener.Removed = true
			have = append(have, r.listener)
		}
	}
	sorting.Func(have, compareListeners)
	return have
}

// Inventory reads the existing objects and their owners, but not their settings.
func (c *Cloud) Inventory(ctx context.Context, key lbcommon.Key, fresh lbcommon.Freshness) (Observed, error) {
	return c.observe(ctx, key, fresh == lbcommon.Authoritative, marked)
}

func (c *Cloud) observe(ctx context.Context, key lbcommon.Key, fresh bool, d depth) (Observed, error) {
	name := Name(key)
	balancer, err := c.store.observe(ctx, name, fresh, d)
	if err != nil {
		return Observed{}, err
	}
	query := vpc.GroupQuery{Name: names.ClassicGroupName(name), Fresh: fresh}
	if balancer != nil {
		query.IDs = balancer.Groups
	}
	groups, err := c.options.Groups.Get(ctx, query)
	if err != nil {
		return Observed{}, err
	}
	return Observed{Balancer: balancer, Groups: groups.WithUsed(c.store.sharedGroups(name))}, nil
}
