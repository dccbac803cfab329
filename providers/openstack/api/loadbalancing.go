package api

import (
	"context"
	"net/url"
)

// ListVersions implements LoadBalancingAPI.
func (c *Clients) ListVersions(ctx context.Context) ([]string, error) {
	type version struct {
		ID string `json:"id"`
	}
	found, err := list[version](ctx, c, reads(LoadBalancing, "ListVersions", nil), "versions")
	ids := make([]string, len(found))
	for i, v := range found {
		ids[i] = v.ID
	}
	return ids, err
}

const (
	lbaas          = "lbaas"
	loadBalancers  = "loadbalancers"
	listeners      = "listeners"
	pools          = "pools"
	members        = "members"
	healthMonitors = "healthmonitors"
)

// ListLoadBalancers implements LoadBalancingAPI.
func (c *Clients) ListLoadBalancers(ctx context.Context, f LoadBalancerFilter) ([]LoadBalancer, error) {
	query := filter{}.add("name", f.Name).add("vip_port_id", f.VIPPortID).joined("tags", f.Tags).joined("tags-any", f.TagsAny)
	return list[LoadBalancer](ctx, c, reads(LoadBalancing, "ListLoadBalancers", url.Values(query), lbaas, loadBalancers), "loadbalancers")
}

// GetLoadBalancer implements LoadBalancingAPI.
func (c *Clients) GetLoadBalancer(ctx context.Context, id string) (LoadBalancer, error) {
	return get[LoadBalancer](ctx, c, LoadBalancing, "ShowLoadBalancer", "loadbalancer", lbaas, loadBalancers, id)
}

// CreateLoadBalancer implements LoadBalancingAPI.
func (c *Clients) CreateLoadBalancer(ctx context.Context, s LoadBalancerSpec) (CreatedLoadBalancer, error) {
	return change[CreatedLoadBalancer](ctx, c, post(LoadBalancing, "CreateLoadBalancer", lbaas, loadBalancers), "loadbalancer", s)
}

// UpdateLoadBalancer implements LoadBalancingAPI.
func (c *Clients) UpdateLoadBalancer(ctx context.Context, id string, p LoadBalancerPatch) (LoadBalancer, error) {
	return change[LoadBalancer](ctx, c, put(LoadBalancing, "UpdateLoadBalancer", 0, lbaas, loadBalancers, id), "loadbalancer", p)
}

// DeleteLoadBalancer implements LoadBalancingAPI.
func (c *Clients) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	var query url.Values
	if cascade {
		query = url.Values{"cascade": {"true"}}
	}
	return c.remove(ctx, LoadBalancing, "DeleteLoadBalancer", query, lbaas, loadBalancers, id)
}

// ListListeners implements LoadBalancingAPI.
func (c *Clients) ListListeners(ctx context.Context, loadBalancerID string) ([]Listener, error) {
	query := filter{}.add("loadbalancer_id", loadBalancerID)
	return list[Listener](ctx, c, reads(LoadBalancing, "ListListeners", url.Values(query), lbaas, listeners), "listeners")
}

// CreateListener implements LoadBalancingAPI.
func (c *Clients) CreateListener(ctx context.Context, s ListenerSpec) (Listener, error) {
	return change[Listener](ctx, c, post(LoadBalancing, "CreateListener", lbaas, listeners), "listener", s)
}

// UpdateListener implements LoadBalancingAPI.
func (c *Clients) UpdateListener(ctx context.Context, id string, p ListenerPatch) (Listener, error) {
	return change[Listener](ctx, c, put(LoadBalancing, "UpdateListener", 0, lbaas, listeners, id), "listener", p)
}

// DeleteListener implements LoadBalancingAPI.
func (c *Clients) DeleteListener(ctx context.Context, id string) error {
	return c.remove(ctx, LoadBalancing, "DeleteListener", nil, lbaas, listeners, id)
}

// ListPools implements LoadBalancingAPI.
func (c *Clients) ListPools(ctx context.Context, loadBalancerID string) ([]Pool, error) {
	query := filter{}.add("loadbalancer_id", loadBalancerID)
	return list[Pool](ctx, c, reads(LoadBalancing, "ListPools", url.Values(query), lbaas, pools), "pools")
}

// CreatePool implements LoadBalancingAPI.
func (c *Clients) CreatePool(ctx context.Context, s PoolSpec) (Pool, error) {
	return change[Pool](ctx, c, post(LoadBalancing, "CreatePool", lbaas, pools), "pool", s)
}

// UpdatePool implements LoadBalancingAPI.
func (c *Clients) UpdatePool(ctx context.Context, id string, p PoolPatch) (Pool, error) {
	return change[Pool](ctx, c, put(LoadBalancing, "UpdatePool", 0, lbaas, pools, id), "pool", p)
}

// DeletePool implements LoadBalancingAPI.
func (c *Clients) DeletePool(ctx context.Context, id string) error {
	return c.remove(ctx, LoadBalancing, "DeletePool", nil, lbaas, pools, id)
}

// ListMembers implements LoadBalancingAPI.
func (c *Clients) ListMembers(ctx context.Context, poolID string) ([]Member, error) {
	return list[Member](ctx, c, reads(LoadBalancing, "ListMembers", nil, lbaas, pools, poolID, members), "members")
}

// SetMembers implements LoadBalancingAPI.
func (c *Clients) SetMembers(ctx context.Context, poolID string, set []MemberSpec) error {
	if set == nil {
		set = []MemberSpec{}
	}
	r := put(LoadBalancing, "BatchUpdateMembers", 0, lbaas, pools, poolID, members)
	r.body = envelope[[]MemberSpec]{"members": set}
	return c.do(ctx, r, nil)
}

// CreateMember implements LoadBalancingAPI.
func (c *Clients) CreateMember(ctx context.Context, poolID string, m MemberSpec) (Member, error) {
	return change[Member](ctx, c, post(LoadBalancing, "CreateMember", lbaas, pools, poolID, members), "member", m)
}

// DeleteMember implements LoadBalancingAPI.
func (c *Clients) DeleteMember(ctx context.Context, poolID, id string) error {
	return c.remove(ctx, LoadBalancing, "DeleteMember", nil, lbaas, pools, poolID, members, id)
}

// ListHealthMonitors implements LoadBalancingAPI.
func (c *Clients) ListHealthMonitors(ctx context.Context) ([]HealthMonitor, error) {
	return list[HealthMonitor](ctx, c, reads(LoadBalancing, "ListHealthMonitors", nil, lbaas, healthMonitors), "healthmonitors")
}

// GetHealthMonitor implements LoadBalancingAPI.
func (c *Clients) GetHealthMonitor(ctx context.Context, id string) (HealthMonitor, error) {
	return get[HealthMonitor](ctx, c, LoadBalancing, "ShowHealthMonitor", "healthmonitor", lbaas, healthMonitors, id)
}

// CreateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) CreateHealthMonitor(ctx context.Context, s HealthMonitorSpec) (HealthMonitor, error) {
	return change[HealthMonitor](ctx, c, post(LoadBalancing, "CreateHealthMonitor", lbaas, healthMonitors), "healthmonitor", s)
}

// UpdateHealthMonitor implements LoadBalancingAPI.
func (c *Clients) UpdateHealthMonitor(ctx context.Context, id string, p HealthMonitorPatch) (HealthMonitor, error) {
	return change[HealthMonitor](ctx, c, put(LoadBalancing, "UpdateHealthMonitor", 0, lbaas, healthMonitors, id), "healthmonitor", p)
}

// DeleteHealthMonitor implements LoadBalancingAPI.
func (c *Clients) DeleteHealthMonitor(ctx context.Context, id string) error {
	return c.remove(ctx, LoadBalancing, "DeleteHealthMonitor", nil, lbaas, healthMonitors, id)
}
