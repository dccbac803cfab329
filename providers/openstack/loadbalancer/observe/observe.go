package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Observed has the existing objects of one Service's load balancer. Readers share it and must not modify what
// it points to.
type Observed struct {
	// LoadBalancer is nil if there is none: the one that the Service names if it exists, else the one of our name.
	LoadBalancer *api.LoadBalancer
	// FailoverRefused is set if Octavia refused the failover of the load balancer.
	FailoverRefused bool
	// Others have our name too.
	Others []api.LoadBalancer
	// Denied is the ID that the Service names, if we may not read that load balancer.
	Denied string
	// Listeners and Pools are all of the load balancer's, of all Services.
	Listeners []api.Listener
	Pools     []Pool
	// FloatingIPs are those at the load balancer's port, and those that were created for the Service.
	FloatingIPs []api.FloatingIP
	// Groups have the name of the Service's security group; GroupPorts use one of them.
	Groups     []api.SecurityGroup
	GroupPorts []api.Port
	// Named is the ID of the load balancer that the Service names.
	Named string
	// KeepFloatingIP is the Service's annotation about its floating IP; nil if it is not set.
	KeepFloatingIP *bool
	// TagsDenied is set if Neutron denied tags of floating IPs last, TagsWait until they are tried again.
	TagsDenied, TagsWait bool
	// Project are all floating IPs of the project, by ID: one of them may have the address that the Service
	// names.
	Project map[string]api.FloatingIP
}

// Pool is a pool with its members and health monitor.
type Pool struct {
	api.Pool
	Members []api.Member
	// Monitor is nil if there is none.
	Monitor *api.HealthMonitor
	// Checksum replaces the members if they were not read.
	Checksum string
}

// Depth selects what is read.
type Depth struct {
	// Authoritative reads from the cloud, bypassing the snapshot.
	Authoritative bool
	// Members includes the members of the pools, and how they are probed.
	Members bool
	// Groups includes the security groups that open node ports.
	Groups bool
	// known is set if lists cannot show more than the snapshot.
	known bool
	// Checksums are those of the members, from the Service's annotation.
	Checksums Checksums
}

// Observe returns the existing objects.
func (s *Store) Observe(ctx context.Context, key Key, d Depth) (Observed, error) {
	if !d.Authoritative {
		return s.cached(ctx, key, d)
	}
	if !s.justRead(key, d) || s.hasRequestedMonitors(key) {
		if err := s.read(ctx, key, d); err != nil {
			return Observed{}, err
		}
	}
	return s.assemble(ctx, key, d)
}

// cached answers from the shared lists.
func (s *Store) cached(ctx context.Context, key Key, d Depth) (Observed, error) {
	if s.state.IsUncertain(key.subject()) {
		if err := s.read(ctx, key, d); err != nil {
			return Observed{}, err
		}
		return s.assemble(ctx, key, d)
	}
	if s.isKnown(key) && (key.Named == "" || s.isResolved(key.Named)) {
		d.known = true
		return s.assemble(ctx, key, d)
	}
	if err := refresh(ctx, s.LoadBalancers, s.FloatingIPs); err != nil {
		return Observed{}, err
	}
	if d.Groups {
		if err := refresh(ctx, s.Groups, s.Ports); err != nil {
			return Observed{}, err
		}
	}
	if key.Named != "" && !s.isResolved(key.Named) {
		// The project's lists do not show it: it is deleted, or another project's.
		if err := s.readNamed(ctx, key.Named); err != nil {
			return Observed{}, err
		}
	}
	return s.assemble(ctx, key, d)
}

// assemble combines the snapshot with the reads for this load balancer.
func (s *Store) assemble(ctx context.Context, key Key, d Depth) (Observed, error) {
	have := s.find(key)
	if have.LoadBalancer == nil {
		return have, nil
	}
	if err := s.ensureParts(ctx, have.LoadBalancer.ID, d); err != nil {
		return Observed{}, err
	}
	return s.withParts(have, d), nil
}

// find selects the load balancer, and others of its name.
func (s *Store) find(key Key) Observed {
	have := Observed{Named: key.Named}
	leaving := func(lb api.LoadBalancer) bool { return lb.ProvisioningStatus == api.PendingDelete }
	named := s.named(key)
	sorting.Func(named, func(a, b api.LoadBalancer) int {
		return cmp.Or(cmp.Compare(rank(key, a), rank(key, b)), cmp.Compare(a.ID, b.ID))
	})
	if lb, ok := s.LoadBalancers.Get(key.Named); ok && key.Named != "" && !leaving(lb) {
		have.LoadBalancer = &lb
		have.Others = slices.DeleteFunc(named, func(o api.LoadBalancer) bool { return o.ID == lb.ID || leaving(o) })
	} else if len(named) > 0 {
		have.LoadBalancer = &named[0]
		have.Others = slices.DeleteFunc(named[1:], leaving)
	} else if shared := s.sharedBy(key); len(shared) > 0 {
		have.LoadBalancer = &shared[0]
	}
	s.mu.Lock()
	if s.denied[key.Named] {
		have.Denied = key.Named
	}
	have.FailoverRefused = have.LoadBalancer != nil && s.unrecoverable[have.LoadBalancer.ID]
	s.mu.Unlock()
	have.FloatingIPs = slices.DeleteFunc(s.FloatingIPs.Lookup(indexService+key.Service().String()),
		func(f api.FloatingIP) bool { return !key.CreatedFloatingIP(f) })
	if lb := have.LoadBalancer; lb != nil && lb.VipPortID != "" {
		have.FloatingIPs = append(have.FloatingIPs, s.FloatingIPs.Lookup(indexPort+lb.VipPortID)...)
	}
	sorting.Func(have.FloatingIPs, func(a, b api.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	have.FloatingIPs = slices.CompactFunc(have.FloatingIPs, func(a, b api.FloatingIP) bool { return a.ID == b.ID })
	have.Project = s.FloatingIPs.All()
	have.Groups = s.Groups.Lookup(indexName + names.SecurityGroup(key.UID, key.Service()))
	for _, g := range have.Groups {
		have.GroupPorts = append(have.GroupPorts, s.Ports.Lookup(g.ID)...)
	}
	sorting.Func(have.GroupPorts, func(a, b api.Port) int { return cmp.Compare(a.ID, b.ID) })
	have.GroupPorts = slices.CompactFunc(have.GroupPorts, func(a, b api.Port) bool { return a.ID == b.ID })
	return have
}

// sharedBy returns load balancers of other Services with our tag: we shared them, and the annotation is lost.
// On one of another cluster the tag is that of a Service of the same name there.
func (s *Store) sharedBy(key Key) []api.LoadBalancer {
	return slices.DeleteFunc(s.LoadBalancers.Lookup(indexTag+key.LoadBalancer()), func(lb api.LoadBalancer) bool {
		return lb.ProvisioningStatus == api.PendingDelete || key.Foreign(lb) != ""
	})
}

// rank sorts load balancers of one name: this cluster's first, then those that are not being deleted, then
// those with the current name.
func rank(key Key, lb api.LoadBalancer) int {
	r := 0
	if key.Foreign(lb) != "" || !key.Proves(lb) {
		r += 4
	}
	if lb.ProvisioningStatus == api.PendingDelete {
		r += 2
	}
	if lb.Name != key.LoadBalancer() {
		r++
	}
	return r
}

// withParts adds listeners and pools.
func (s *Store) withParts(have Observed, d Depth) Observed {
	id := have.LoadBalancer.ID
	have.Listeners = s.Listeners.Lookup(id)
	sorting.Func(have.Listeners, func(a, b api.Listener) int {
		return cmp.Or(cmp.Compare(a.ProtocolPort, b.ProtocolPort), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range s.Pools.Lookup(id) {
		pool := Pool{Pool: p}
		if d.Members {
			if members, ok := s.Members.Get(p.ID); ok {
				pool.Members = members
			} else {
				pool.Checksum = d.Checksums.of(p)
			}
			pool.Monitor = s.monitorOf(p)
		}
		have.Pools = append(have.Pools, pool)
	}
	sorting.Func(have.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.ID, b.ID))
	})
	return have
}

// monitorOf returns the health monitor of a pool; nil if there is none, or if it is unknown. A requested
// monitor has no ID: it only proves that nothing has to change.
func (s *Store) monitorOf(p api.Pool) *api.HealthMonitor {
	if monitor, ok := s.Monitors.Get(p.MonitorID); ok {
		return &monitor
	}
	return p.RequestedMonitor
}

// hasRequestedMonitors reports whether a health monitor of the Service's load balancer is known only from its
// creation: it has to be read before it is changed.
func (s *Store) hasRequestedMonitors(key Key) bool {
	lb := s.find(key).LoadBalancer
	return lb != nil && slices.ContainsFunc(s.Pools.Lookup(lb.ID),
		func(p api.Pool) bool { return p.RequestedMonitor != nil })
}
