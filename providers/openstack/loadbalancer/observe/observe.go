package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

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

// cached returns the objects in the shared lists.
func (s *Store) cached(ctx context.Context, key Key, d Depth) (Observed, error) {
	if s.state.IsUncertain(key.subject()) {
		if err := s.read(ctx, key, d); err != nil {
			return Observed{}, err
		}
		return s.assemble(ctx, key, d)
	}
	if s.isComplete(key) && (key.Named == "" || s.isResolved(key.Named)) {
		d.complete = true
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
	if d.Left {
		var err error
		if have.Left, err = s.left(ctx, key, have, d); err != nil {
			return Observed{}, err
		}
	}
	return s.withParts(have, d), nil
}

// left returns the load balancers that a Service shared before the present one.
func (s *Store) left(ctx context.Context, key Key, have Observed, d Depth) ([]Observed, error) {
	var list []Observed
	shared := s.sharedBy(key)
	sorting.Func(shared, func(a, b api.LoadBalancer) int { return cmp.Compare(a.ID, b.ID) })
	for _, lb := range shared {
		if lb.ID == have.LoadBalancer.ID {
			continue
		}
		read := s.ensureParts
		if d.Authoritative {
			read = s.readParts
		}
		if err := read(ctx, lb.ID, d); err != nil {
			return nil, err
		}
		left := Observed{LoadBalancer: &lb, Named: have.Named, Addresses: have.Addresses, Proven: s.proves(key, lb),
			FloatingIPs: s.FloatingIPs.Lookup(indexPort + lb.VipPortID)}
		list = append(list, s.withParts(left, d))
	}
	return list, nil
}

// withParts adds listeners and pools.
func (s *Store) withParts(have Observed, d Depth) Observed {
	id := have.LoadBalancer.ID
	have.Listeners = s.Listeners.Lookup(id)
	sorting.Func(have.Listeners, func(a, b api.Listener) int {
		return cmp.Or(cmp.Compare(a.ProtocolPort, b.ProtocolPort), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range s.Pools.Lookup(id) {
		pool := Pool{Pool: p, RefusedMethod: s.refusedMethod(p.ID)}
		if d.Members {
			if members, ok := s.Members.Get(p.ID); ok {
				pool.Members = members
			} else {
				pool.Checksum = d.Checksums.lookup(p)
			}
			pool.Monitor = s.monitorOf(p)
		}
		have.Pools = append(have.Pools, pool)
	}
	sorting.Func(have.Pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
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
// creation: it must be read before it is changed.
func (s *Store) hasRequestedMonitors(key Key) bool {
	lb := s.find(key).LoadBalancer
	return lb != nil && slices.ContainsFunc(s.Pools.Lookup(lb.ID),
		func(p api.Pool) bool { return p.RequestedMonitor != nil })
}
