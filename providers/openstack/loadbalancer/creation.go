package loadbalancer

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// bookCreation notes what a creation asked for and what it answered. What neither says is read before
// it is used. The lock is held.
func (c *Cloud) bookCreation(spec loadbalancers.CreateOpts, made api.LoadBalancer, write uint64) {
	s := c.store
	asked := monitorsOf(spec)
	for _, l := range made.Listeners {
		l.Loadbalancers = []listeners.LoadBalancerID{{ID: made.ID}}
		s.listeners.put(l.ID, l, write)
		if l.Protocol == "" || l.DefaultPoolID == "" {
			s.doubts[made.ID] = true
		}
	}
	for _, p := range made.Pools {
		if p.Protocol == "" {
			s.doubts[made.ID] = true
		}
		if p.Monitor.ID != "" {
			p.MonitorID = p.Monitor.ID
			s.monitors.put(p.Monitor.ID, p.Monitor, write)
		} else if monitor, ok := asked[p.Name]; ok && p.MonitorID == "" {
			s.promised[p.ID] = monitor
		}
		pool := api.Pool{Pool: p}
		pool.Pool.Members, pool.Loadbalancers = nil, []pools.LoadBalancerID{{ID: made.ID}}
		members := make([]api.Member, 0, len(p.Members))
		for _, m := range p.Members {
			pool.Members = append(pool.Members, api.Ref{ID: m.ID})
			members = append(members, api.Member{
				ID: m.ID, Name: m.Name, Address: m.Address, Port: m.ProtocolPort, SubnetID: m.SubnetID, MonitorPort: m.MonitorPort,
			})
		}
		s.pools.put(p.ID, pool, write)
		c.bookMemberList(p.ID, members, write)
	}
	made.Listeners, made.Pools = nil, nil
	s.balancers.put(made.ID, made, write)
	delete(s.gone, made.ID)
}

// monitorsOf are the health monitors of a creation, by the names of their pools, which differ.
func monitorsOf(spec loadbalancers.CreateOpts) map[string]api.HealthMonitor {
	found := map[string]api.HealthMonitor{}
	for _, l := range spec.Listeners {
		if l.DefaultPool == nil {
			continue
		}
		if m, ok := l.DefaultPool.Monitor.(monitors.CreateOpts); ok {
			found[l.DefaultPool.Name] = api.HealthMonitor{
				Name: m.Name, Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown,
				URLPath: m.URLPath, HTTPMethod: m.HTTPMethod, ExpectedCodes: m.ExpectedCodes,
			}
		}
	}
	return found
}

// monitorOf is how a pool is probed; nil for not at all, or not known. Octavia makes a load balancer with
// all that is in it or refuses it as a whole, but answers with pools that seem to have no health monitor.
// So until a pool is read, the health monitor that its creation asked for is taken to be there. It has no
// ID, so that it is good for saying that nothing has to change and for nothing else. The lock is held.
func (s *store) monitorOf(p api.Pool) *api.HealthMonitor {
	if monitor, ok := s.monitors.get(p.MonitorID); ok {
		return &monitor
	}
	if monitor, ok := s.promised[p.ID]; ok && s.promises(p) {
		return &monitor
	}
	return nil
}

// promises says whether a pool's health monitor is known from its creation alone. The lock is held.
func (s *store) promises(p api.Pool) bool {
	if _, ok := s.promised[p.ID]; !ok {
		return false
	}
	if p.MonitorID != "" || s.pools.rows[p.ID].writtenAt == 0 {
		delete(s.promised, p.ID) // it was read
		return false
	}
	return true
}

// promising says whether anything of the Service's load balancer is known from its creation alone: what
// is to be changed has to be read.
func (s *store) promising(key serviceKey) bool {
	lb := s.find(key).LoadBalancer
	if lb == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pools.all(func(p api.Pool) bool { return parentOfPool(p) == lb.ID }), s.promises)
}
