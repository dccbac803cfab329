package api

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	lbflavors "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
)

// ListVersions implements LoadBalancingAPI. gophercloud sends the request to the host of the service without
// the path in the catalog.
func (c *Clients) ListVersions(ctx context.Context) ([]string, error) {
	found, err := list[apiversions.APIVersion](ctx, c, readRequest(LoadBalancing, "ListVersions"), "versions", nil)
	ids := make([]string, len(found))
	for i, v := range found {
		ids[i] = v.ID
	}
	return ids, err
}

// ListLoadBalancers implements LoadBalancingAPI.
func (c *Clients) ListLoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	return list[LoadBalancer](ctx, c, readRequest(LoadBalancing, "ListLoadBalancers"), "loadbalancers", projectScope{},
		"lbaas", "loadbalancers")
}

// DeleteLoadBalancer implements LoadBalancingAPI.
func (c *Clients) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	return c.perform(ctx, writeRequest(LoadBalancing, "DeleteLoadBalancer"),
		func(ctx context.Context, s *serviceClient) result {
			return loadbalancers.Delete(ctx, s, id, loadbalancers.DeleteOpts{Cascade: cascade}).Result
		})
}

// FailoverLoadBalancer implements LoadBalancingAPI.
func (c *Clients) FailoverLoadBalancer(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(LoadBalancing, "FailoverLoadBalancer"), loadbalancers.Failover, id)
}

// GetLoadBalancerFlavor implements LoadBalancingAPI.
func (c *Clients) GetLoadBalancerFlavor(ctx context.Context, id string) (LoadBalancerFlavor, error) {
	return object[LoadBalancerFlavor](ctx, c, readRequest(LoadBalancing, "ShowLoadBalancerFlavor"), "flavor",
		func(ctx context.Context, s *serviceClient) result {
			return lbflavors.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// ListLoadBalancerZones implements LoadBalancingAPI.
func (c *Clients) ListLoadBalancerZones(ctx context.Context) ([]LoadBalancerZone, error) {
	return list[LoadBalancerZone](ctx, c, readRequest(LoadBalancing, "ListLoadBalancerAvailabilityZones"),
		"availability_zones", nil, "lbaas", "availabilityzones")
}

// ListListeners implements LoadBalancingAPI.
func (c *Clients) ListListeners(ctx context.Context, loadBalancerID string) ([]Listener, error) {
	return list[Listener](ctx, c, readRequest(LoadBalancing, "ListListeners"), "listeners",
		scopeUnless(loadBalancerID != "", listeners.ListOpts{LoadbalancerID: loadBalancerID}), "lbaas", "listeners")
}

// ListPools implements LoadBalancingAPI.
func (c *Clients) ListPools(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	return list[Pool](ctx, c, readRequest(LoadBalancing, "ListPools"), "pools",
		scopeUnless(loadBalancerID != "", pools.ListOpts{LoadbalancerID: loadBalancerID}), "lbaas", "pools")
}

// ListMembers implements LoadBalancingAPI.
func (c *Clients) ListMembers(ctx context.Context, poolID string) ([]Member, error) {
	return list[Member](ctx, c, readRequest(LoadBalancing, "ListMembers"), "members", nil,
		"lbaas", "pools", poolID, "members")
}

// SetMembers implements LoadBalancingAPI.
func (c *Clients) SetMembers(ctx context.Context, poolID string, members []Member) error {
	return c.perform(ctx, writeRequest(LoadBalancing, "BatchUpdateMembers"),
		func(ctx context.Context, s *serviceClient) result {
			return pools.BatchUpdateMembers(ctx, s, poolID, members).Result
		})
}

// CreateMember implements LoadBalancingAPI.
func (c *Clients) CreateMember(ctx context.Context, poolID string, m Member) (Member, error) {
	return object[Member](ctx, c, createRequest(LoadBalancing, "CreateMember"), "member",
		func(ctx context.Context, s *serviceClient) result {
			return pools.CreateMember(ctx, s, poolID, m.CreateOpts()).Result
		})
}

// DeleteMember implements LoadBalancingAPI.
func (c *Clients) DeleteMember(ctx context.Context, poolID, id string) error {
	return c.perform(ctx, writeRequest(LoadBalancing, "DeleteMember"),
		func(ctx context.Context, s *serviceClient) result {
			return pools.DeleteMember(ctx, s, poolID, id).Result
		})
}

// ListHealthMonitors implements LoadBalancingAPI.
func (c *Clients) ListHealthMonitors(ctx context.Context) ([]HealthMonitor, error) {
	return list[HealthMonitor](ctx, c, readRequest(LoadBalancing, "ListHealthMonitors"), "healthmonitors", projectScope{},
		"lbaas", "healthmonitors")
}

// GetLoadBalancer implements LoadBalancingAPI.
func (c *Clients) GetLoadBalancer(ctx context.Context, id string) (LoadBalancer, error) {
	return object[LoadBalancer](ctx, c, readRequest(LoadBalancing, "ShowLoadBalancer"), "loadbalancer",
		func(ctx context.Context, s *serviceClient) result {
			return loadbalancers.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// UpdateLoadBalancer implements LoadBalancingAPI.
func (c *Clients) UpdateLoadBalancer(ctx context.Context, id string, o loadbalancers.UpdateOpts) (LoadBalancer, error) {
	return object[LoadBalancer](ctx, c, writeRequest(LoadBalancing, "UpdateLoadBalancer"), "loadbalancer",
		func(ctx context.Context, s *serviceClient) result {
			return loadbalancers.Update(ctx, s, id, o).Result
		})
}

// CreateListener implements LoadBalancingAPI.
func (c *Clients) CreateListener(ctx context.Context, o listeners.CreateOpts) (Listener, error) {
	return object[Listener](ctx, c, createRequest(LoadBalancing, "CreateListener"), "listener",
		func(ctx context.Context, s *serviceClient) result {
			return listeners.Create(ctx, s, o).Result
		})
}

// UpdateListener implements LoadBalancingAPI.
func (c *Clients) UpdateListener(ctx context.Context, id string, o listeners.UpdateOpts) (Listener, error) {
	return object[Listener](ctx, c, writeRequest(LoadBalancing, "UpdateListener"), "listener",
		func(ctx context.Context, s *serviceClient) result {
			return listeners.Update(ctx, s, id, o).Result
		})
}

// DeleteListener implements LoadBalancingAPI.
func (c *Clients) DeleteListener(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(LoadBalancing, "DeleteListener"), listeners.Delete, id)
}

// CreatePool implements LoadBalancingAPI.
func (c *Clients) CreatePool(ctx context.Context, o pools.CreateOpts) (Pool, error) {
	return object[Pool](ctx, c, createRequest(LoadBalancing, "CreatePool"), "pool",
		func(ctx context.Context, s *serviceClient) result {
			return pools.Create(ctx, s, o).Result
		})
}

// UpdatePool implements LoadBalancingAPI.
func (c *Clients) UpdatePool(ctx context.Context, id string, o pools.UpdateOpts) (Pool, error) {
	return object[Pool](ctx, c, writeRequest(LoadBalancing, "UpdatePool"), "pool",
		func(ctx context.Context, s *serviceClient) result {
			return pools.Update(ctx, s, id, o).Result
		})
}

// DeletePool implements LoadBalancingAPI.
func (c *Clients) DeletePool(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(LoadBalancing, "DeletePool"), pools.Delete, id)
}

// GetHealthMonitor implements LoadBalancingAPI.
func (c *Clients) GetHealthMonitor(ctx context.Context, id string) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, readRequest(LoadBalancing, "ShowHealthMonitor"), "healthmonitor",
		func(ctx context.Context, s *serviceClient) result {
			return monitors.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// CreateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) CreateHealthMonitor(ctx context.Context, o monitors.CreateOpts) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, createRequest(LoadBalancing, "CreateHealthMonitor"), "healthmonitor",
		func(ctx context.Context, s *serviceClient) result {
			return monitors.Create(ctx, s, o).Result
		})
}

// UpdateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) UpdateHealthMonitor(ctx context.Context, id string, o monitors.UpdateOpts) (HealthMonitor, error) {
	return object[HealthMonitor](ctx, c, writeRequest(LoadBalancing, "UpdateHealthMonitor"), "healthmonitor",
		func(ctx context.Context, s *serviceClient) result {
			return monitors.Update(ctx, s, id, o).Result
		})
}

// DeleteHealthMonitor implements LoadBalancingAPI.
func (c *Clients) DeleteHealthMonitor(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(LoadBalancing, "DeleteHealthMonitor"), monitors.Delete, id)
}
