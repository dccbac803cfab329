package observe

import (
	"cmp"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
)

// RecordCreation records the request and response of a creation. Fields that neither contains are read before use.
func (s *Store) RecordCreation(spec loadbalancers.CreateOpts, created api.LoadBalancer) {
	requested := requestedMonitors(spec)
	for _, l := range created.Listeners {
		l.Loadbalancers = []listeners.LoadBalancerID{{ID: created.ID}}
		s.Listeners.Create(l.ID, l)
		if l.Protocol == "" || l.DefaultPoolID == "" {
			s.state.MarkUncertain(created.ID)
		}
	}
	for _, p := range created.Pools {
		if p.Protocol == "" {
			s.state.MarkUncertain(created.ID)
		}
		pool := api.Pool{Pool: p}
		pool.Pool.Members, pool.Loadbalancers = nil, []pools.LoadBalancerID{{ID: created.ID}}
		if p.Monitor.ID != "" {
			pool.MonitorID = p.Monitor.ID
			s.Monitors.Create(p.Monitor.ID, p.Monitor)
		} else if monitor, ok := requested[p.Name]; ok && p.MonitorID == "" {
			pool.RequestedMonitor = &monitor
		}
		list := make([]api.Member, 0, len(p.Members))
		for _, m := range p.Members {
			pool.Members = append(pool.Members, api.Ref{ID: m.ID})
			list = append(list, api.Member{
				ID: m.ID, Name: m.Name, Address: m.Address, Port: m.ProtocolPort, SubnetID: m.SubnetID, MonitorPort: m.MonitorPort,
			})
		}
		s.Pools.Create(p.ID, pool)
		s.Members.Create(p.ID, list)
	}
	s.LoadBalancers.Create(created.ID, WithoutParts(created))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted.remove(created.ID)
	if len(spec.Tags) == 0 {
		s.untagged.add(created.ID)
	}
}

// requestedMonitors returns the health monitors of a creation, by the names of their pools, which differ.
func requestedMonitors(spec loadbalancers.CreateOpts) map[string]api.HealthMonitor {
	found := map[string]api.HealthMonitor{}
	for _, l := range spec.Listeners {
		if l.DefaultPool == nil {
			continue
		}
		if m, ok := l.DefaultPool.Monitor.(monitors.CreateOpts); ok {
			found[l.DefaultPool.Name] = api.HealthMonitor{
				Name: m.Name, Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries,
				MaxRetriesDown: m.MaxRetriesDown, URLPath: m.URLPath, HTTPMethod: m.HTTPMethod, ExpectedCodes: m.ExpectedCodes,
			}
		}
	}
	return found
}

// SetStatus records the provisioning status of a load balancer.
func (s *Store) SetStatus(id, status string) {
	if _, ok := s.LoadBalancers.Get(id); ok {
		s.LoadBalancers.Update(id, func(lb *api.LoadBalancer) { lb.ProvisioningStatus = status })
	}
}

// SettleParts records that the parts of a load balancer are ACTIVE, because the load balancer is.
func (s *Store) SettleParts(id string) {
	for _, l := range s.Listeners.Lookup(id) {
		if IsPending(l.ProvisioningStatus) {
			s.Listeners.Update(l.ID, func(l *api.Listener) { l.ProvisioningStatus = api.Active })
		}
	}
	for _, p := range s.Pools.Lookup(id) {
		if IsPending(p.ProvisioningStatus) {
			s.Pools.Update(p.ID, func(p *api.Pool) { p.ProvisioningStatus = api.Active })
		}
	}
}

// IsPending reports whether a provisioning status is one in which Octavia refuses changes.
func IsPending(status string) bool {
	return status == api.PendingCreate || status == api.PendingUpdate || status == api.PendingDelete
}

// SetMembers records the members of a pool after a batch. The response of a batch does not contain them.
func (s *Store) SetMembers(pool string, want []api.Member) {
	cached, _ := s.Members.Get(pool)
	previous := make(map[members.Identity]api.Member, len(cached))
	for _, m := range cached {
		previous[members.IdentityOf(m)] = m
	}
	list := make([]api.Member, len(want))
	for i, m := range want {
		old := previous[members.IdentityOf(m)]
		m.ID, m.SubnetID = old.ID, cmp.Or(old.SubnetID, m.SubnetID)
		list[i] = m
	}
	s.Members.Put(pool, list)
}

// DeletePool records the deletion of a pool with its members and health monitor.
func (s *Store) DeletePool(id, monitorID string) {
	s.Pools.Delete(id)
	s.mu.Lock()
	delete(s.refusedMethods, id)
	s.mu.Unlock()
	if monitorID != "" {
		s.Monitors.Delete(monitorID)
	}
}

// SetMonitor records that a pool has a health monitor, or with "" that it has none.
func (s *Store) SetMonitor(pool, monitorID string) {
	s.Pools.Update(pool, func(p *api.Pool) { p.MonitorID, p.RequestedMonitor = monitorID, nil })
}

// Delete records the deletion of a load balancer and of its parts. It detaches its floating IPs, as the cloud
// does.
func (s *Store) Delete(id string) {
	lb, _ := s.LoadBalancers.Get(id)
	s.LoadBalancers.Delete(id)
	s.mu.Lock()
	s.deleted.add(id)
	s.untagged.remove(id)
	s.mu.Unlock()
	for _, l := range s.Listeners.Lookup(id) {
		s.Listeners.Delete(l.ID)
	}
	for _, p := range s.Pools.Lookup(id) {
		s.DeletePool(p.ID, "")
	}
	if lb.VipPortID == "" {
		return
	}
	for _, f := range s.FloatingIPs.Lookup(indexPort + lb.VipPortID) {
		s.FloatingIPs.Update(f.ID, func(f *api.FloatingIP) { f.PortID, f.FixedIP = "", "" })
	}
}

// Abandon records that the deletion of a load balancer was requested.
func (s *Store) Abandon(id string) {
	s.mu.Lock()
	s.abandoned.add(id)
	s.mu.Unlock()
	s.SetStatus(id, api.PendingDelete)
}

// FailCreation records that Octavia failed to build a load balancer.
func (s *Store) FailCreation(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unbuilt.add(id)
}

// RefuseFailover records that Octavia refused the failover of a load balancer.
func (s *Store) RefuseFailover(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unrecoverable.add(id)
}

// RefuseMethod records that Octavia refused an algorithm for a pool.
func (s *Store) RefuseMethod(pool, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusedMethods[pool] = method
}

func (s *Store) refusedMethod(pool string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusedMethods[pool]
}
