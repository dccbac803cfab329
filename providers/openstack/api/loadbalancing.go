package api

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// ListVersions implements LoadBalancingAPI. gophercloud sends the request to the host of the service without
// the path in the catalog.
func (c *Clients) ListVersions(ctx context.Context) ([]string, error) {
	found, err := list[apiversions.APIVersion](ctx, c, reading(LoadBalancing, "ListVersions"), "versions", nil)
	ids := make([]string, len(found))
	for i, v := range found {
		ids[i] = v.ID
	}
	return ids, err
}

// ListLoadBalancers implements LoadBalancingAPI.
func (c *Clients) ListLoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	return list[LoadBalancer](ctx, c, reading(LoadBalancing, "ListLoadBalancers"), "loadbalancers", ownProject{},
		"lbaas", "loadbalancers")
}

// DeleteLoadBalancer implements LoadBalancingAPI.
func (c *Clients) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	return c.perform(ctx, setting(LoadBalancing, "DeleteLoadBalancer"), func(ctx ctxt, s client) result {
		return loadbalancers.Delete(ctx, s, id, loadbalancers.DeleteOpts{Cascade: cascade}).Result
	})
}

// FailoverLoadBalancer implements LoadBalancingAPI.
func (c *Clients) FailoverLoadBalancer(ctx context.Context, id string) error {
	return c.perform(ctx, setting(LoadBalancing, "FailoverLoadBalancer"), func(ctx ctxt, s client) result {
		return loadbalancers.Failover(ctx, s, id).Result
	})
}

// ListListeners implements LoadBalancingAPI.
func (c *Clients) ListListeners(ctx context.Context, loadBalancerID string) ([]Listener, error) {
	return list[Listener](ctx, c, reading(LoadBalancing, "ListListeners"), "listeners",
		ownUnless(loadBalancerID != "", listeners.ListOpts{LoadbalancerID: loadBalancerID}), "lbaas", "listeners")
}

// ListPools implements LoadBalancingAPI.
func (c *Clients) ListPools(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	return list[Pool](ctx, c, reading(LoadBalancing, "ListPools"), "pools",
		ownUnless(loadBalancerID != "", pools.ListOpts{LoadbalancerID: loadBalancerID}), "lbaas", "pools")
}

// ListMembers implements LoadBalancingAPI.
func (c *Clients) ListMembers(ctx context.Context, poolID string) ([]Member, error) {
	return list[Member](ctx, c, reading(LoadBalancing, "ListMembers"), "members", nil, "lbaas", "pools", poolID, "members")
}

// SetMembers implements LoadBalancingAPI.
func (c *Clients) SetMembers(ctx context.Context, poolID string, members []Member) error {
	return c.perform(ctx, setting(LoadBalancing, "BatchUpdateMembers"), func(ctx ctxt, s client) result {
		return pools.BatchUpdateMembers(ctx, s, poolID, members).Result
	})
}

// CreateMember implements LoadBalancingAPI.
func (c *Clients) CreateMember(ctx context.Context, poolID string, m Member) (Member, error) {
	return object[Member](ctx, c, creating(LoadBalancing, "CreateMember"), "member", func(ctx ctxt, s client) result {
		return pools.CreateMember(ctx, s, poolID, m.CreateOpts()).Result
	})
}

// DeleteMember implements LoadBalancingAPI.
func (c *Clients) DeleteMember(ctx context.Context, poolID, id string) error {
	return c.perform(ctx, setting(LoadBalancing, "DeleteMember"), func(ctx ctxt, s client) result {
		return pools.DeleteMember(ctx, s, poolID, id).Result
	})
}

// ListHealthMonitors implements LoadBalancingAPI.
func (c *Clients) ListHealthMonitors(ctx context.Context) ([]HealthMonitor, error) {
	return list[HealthMonitor](ctx, c, reading(LoadBalancing, "ListHealthMonitors"), "healthmonitors", ownProject{},
		"lbaas", "healthmonitors")
}

// GetLoadBalancer implements LoadBalancingAPI.
func (c *Clients) GetLoadBalancer(ctx context.Context, id string) (LoadBalancer, error) {
	return object[LoadBalancer](ctx, c, reading(LoadBalancing, "ShowLoadBalancer"), "loadbalancer",
		func(ctx ctxt, s client) result {
			return loadbalancers.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// UpdateLoadBalancer implements LoadBalancingAPI.
func (c *Clients) UpdateLoadBalancer(ctx context.Context, id string, o loadbalancers.UpdateOpts) (LoadBalancer, error) {
	return object[LoadBalancer](ctx, c, setting(LoadBalancing, "UpdateLoadBalancer"), "loadbalancer",
		func(ctx ctxt, s client) result {
			return loadbalancers.Update(ctx, s, id, o).Result
		})
}

// CreateListener implements LoadBalancingAPI.
func (c *Clients) CreateListener(ctx context.Context, o listeners.CreateOpts) (Listener, error) {
	return object[Listener](ctx, c, creating(LoadBalancing, "CreateListener"), "listener",
		func(ctx ctxt, s client) result {
			return listeners.Create(ctx, s, o).Result
		})
}

// UpdateListener implements LoadBalancingAPI.
func (c *Clients) UpdateListener(ctx context.Context, id string, o listeners.UpdateOpts) (Listener, error) {
	return object[Listener](ctx, c, setting(LoadBalancing, "UpdateListener"), "listener", func(ctx ctxt, s client) result {
		return listeners.Update(ctx, s, id, o).Result
	})
}

// DeleteListener implements LoadBalancingAPI.
func (c *Clients) DeleteListener(ctx context.Context, id string) error {
	return c.perform(ctx, setting(LoadBalancing, "DeleteListener"), func(ctx ctxt, s client) result {
		return listeners.Delete(ctx, s, id).Result
	})
}

// CreatePool implements LoadBalancingAPI.
func (c *Clients) CreatePool(ctx context.Context, o pools.CreateOpts) (Pool, error) {
	return object[Pool](ctx, c, creating(LoadBalancing, "CreatePool"), "pool", func(ctx ctxt, s client) result {
		return pools.Create(ctx, s, o).Result
	})
}

// UpdatePool implements LoadBalancingAPI.
func (c *Clients) UpdatePool(ctx context.Context, id string, o pools.UpdateOpts) (Pool, error) {
	return object[Pool](ctx, c, setting(LoadBalancing, "UpdatePool"), "pool", func(ctx ctxt, s client) result {
		return pools.Update(ctx, s, id, o).Result
	})
}

// DeletePool implements LoadBalancingAPI.
func (c *Clients) DeletePool(ctx context.Context, id string) error {
	return c.perform(ctx, setting(LoadBalancing, "DeletePool"), func(ctx ctxt, s client) result {
		return pools.Delete(ctx, s, id).Result
	})
}

// GetHealthMonitor implements LoadBalancingAPI.
func (c *Clients) GetHealthMonitor(ctx context.Context, id string) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, reading(LoadBalancing, "ShowHealthMonitor"), "healthmonitor",
		func(ctx ctxt, s client) result {
			return monitors.Get(ctx, s, id).Result
		})
}

// CreateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) CreateHealthMonitor(ctx context.Context, o monitors.CreateOpts) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, creating(LoadBalancing, "CreateHealthMonitor"), "healthmonitor",
		func(ctx ctxt, s client) result {
			return monitors.Create(ctx, s, o).Result
		})
}

// UpdateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) UpdateHealthMonitor(ctx context.Context, id string, o monitors.UpdateOpts) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, setting(LoadBalancing, "UpdateHealthMonitor"), "healthmonitor",
		func(ctx ctxt, s client) result {
			return monitors.Update(ctx, s, id, o).Result
		})
}

// DeleteHealthMonitor implements LoadBalancingAPI.
func (c *Clients) DeleteHealthMonitor(ctx context.Context, id string) error {
	return c.perform(ctx, setting(LoadBalancing, "DeleteHealthMonitor"), func(ctx ctxt, s client) result {
		return monitors.Delete(ctx, s, id).Result
	})
}
