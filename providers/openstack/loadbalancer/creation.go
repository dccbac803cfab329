package loadbalancer

import (
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// bookCreation notes what a creation asked for and what it answered. What neither says is read before
// it is used. The lock is held.
func (c *Cloud) bookCreation(spec api.LoadBalancerSpec, made api.CreatedLoadBalancer, write uint64) {
	s, here := c.store, []api.Ref{{ID: made.ID}}
	lb := made.LoadBalancer
	s.balancers.put(lb.ID, lb, write)
	delete(s.gone, lb.ID)
	for _, l := range made.Listeners {
		l.LoadBalancers = here
		s.listeners.put(l.ID, l, write)
		if l.Protocol == "" || l.DefaultPoolID == "" {
			s.doubts[lb.ID] = true
		}
	}
	asked := monitorsOf(spec)
	for _, p := range made.Pools {
		p.LoadBalancers = here
		if p.Protocol == "" {
			s.doubts[lb.ID] = true
		}
		if p.HealthMonitor != nil {
			p.HealthMonitorID = p.HealthMonitor.ID
			s.monitors.put(p.HealthMonitor.ID, *p.HealthMonitor, write)
		} else if monitor, ok := asked[p.Name]; ok && p.HealthMonitorID == "" {
			s.promised[p.ID] = monitor
		}
		s.pools.put(p.ID, p.Pool, write)
		c.bookMemberList(p.ID, p.Members, write)
	}
}

// monitorsOf are the health monitors of a creation, by the names of their pools, which differ.
func monitorsOf(spec api.LoadBalancerSpec) map[string]api.HealthMonitor {
	found := map[string]api.HealthMonitor{}
	for _, l := range spec.Listeners {
		if l.DefaultPool == nil || l.DefaultPool.HealthMonitor == nil {
			continue
		}
		m := l.DefaultPool.HealthMonitor
		found[l.DefaultPool.Name] = api.HealthMonitor{
			Name: m.Name, Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown,
			URLPath: m.URLPath, HTTPMethod: m.HTTPMethod, ExpectedCodes: m.ExpectedCodes,
		}
	}
	return found
}

// monitorOf is how a pool is probed; nil for not at all, or not known. Octavia makes a load balancer with
// all that is in it or refuses it as a whole, but answers with pools that seem to have no health monitor.
// So until a pool is read, the health monitor that its creation asked for is taken to be there. It has no
// ID, so that it is good for saying that nothing has to change and for nothing else. The lock is held.
func (s *store) monitorOf(p api.Pool) *api.HealthMonitor {
	if monitor, ok := s.monitors.get(p.HealthMonitorID); ok {
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
	if p.HealthMonitorID != "" || s.pools.rows[p.ID].writtenAt == 0 {
		delete(s.promised, p.ID) // it was read
		return false
	}
	return true
}

// promising says whether anything of the Service's load balancer is known from its creation alone: what
// is to be changed has to be read.
func (s *store) promising(key lbcommon.Key) bool {
	lb := s.find(key).LoadBalancer
	if lb == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pools.all(func(p api.Pool) bool { return within(p.LoadBalancers, lb.ID) }), s.promises)
}
