package classic

import (
	"context"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Observe reads the existing objects of a Service's load balancer, including orphans without one. A cached
// observation makes no call while the shared lists are fresh. A want of nil is unknown.
func (c *Cloud) Observe(ctx context.Context, key lbcommon.Key, want *Desired, fresh lbcommon.Freshness) (Observed,
	error) {
	if want != nil {
		c.store.refusals.Keep(want.Name, kindListeners, textsOf(want.Listeners))
		c.store.refusals.Keep(want.Name, kindSubnets, want.Subnets)
	}
	return c.observe(ctx, key, fresh == lbcommon.Authoritative, full)
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
