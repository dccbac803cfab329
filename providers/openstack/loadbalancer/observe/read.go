package observe

import (
	"context"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// read reads the objects of one Service from the cloud, of all clusters: a load balancer of this name that is another
// cluster's must be found to be refused.
func (s *Store) read(ctx context.Context, key Key, d Depth) error {
	r := s.state.Begin()
	found, err := s.findNamed(ctx, key)
	if err != nil {
		return err
	}
	// Whole lists: the names of earlier managers are needed too, while filters accept one name, and concurrent
	// callers share the lists.
	lists := []refresher{s.FloatingIPs}
	if !found {
		lists = append(lists, s.LoadBalancers)
	}
	if err := reread(ctx, lists...); err != nil {
		return err
	}
	if d.Left {
		if err := refresh(ctx, s.LoadBalancers); err != nil {
			return err
		}
	}
	if d.Groups {
		if err := s.readGroups(ctx, key); err != nil {
			return err
		}
	}
	if lb := s.find(key).LoadBalancer; lb != nil {
		if err := s.readParts(ctx, lb.ID, d); err != nil {
			return err
		}
	}
	s.state.Confirm(key.subject(), r)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.reads, func(_ string, last lastRead) bool { return now.Sub(last.at) >= confirmAge })
	s.reads[key.subject()] = lastRead{at: r.At(), members: d.Members, groups: d.Groups}
	return nil
}

// findNamed reads the load balancer that the Service names, and reports whether it can be used.
func (s *Store) findNamed(ctx context.Context, key Key) (bool, error) {
	if key.Named == "" {
		return false, nil
	}
	if err := s.readNamed(ctx, key.Named); err != nil {
		return false, err
	}
	lb, ok := s.LoadBalancers.Get(key.Named)
	return ok && lb.ProvisioningStatus != api.PendingDelete, nil
}

// readGroups reads the Service's security group, and the ports that use it.
func (s *Store) readGroups(ctx context.Context, key Key) error {
	name := names.SecurityGroup(key.UID, key.Service())
	r := s.state.Begin()
	groups, err := s.api.ListSecurityGroups(ctx, name)
	if err != nil {
		return err
	}
	s.Groups.MergeSelected(r, groups, func(g api.SecurityGroup) bool { return g.Name == name })
	for _, g := range groups {
		r := s.state.Begin()
		ports, err := s.api.ListPorts(ctx, api.PortFilter{SecurityGroup: g.ID})
		if err != nil {
			return err
		}
		s.Ports.MergeSelected(r, ports, func(p api.Port) bool { return slices.Contains(p.SecurityGroups, g.ID) })
	}
	return nil
}

// readParts reads the parts of one load balancer.
func (s *Store) readParts(ctx context.Context, id string, d Depth) error {
	r := s.state.Begin()
	listeners, err := s.api.ListListeners(ctx, id)
	if err != nil {
		return err
	}
	pools, err := s.api.ListPools(ctx, id)
	if err != nil {
		return err
	}
	s.Listeners.MergeSelected(r, listeners, func(l api.Listener) bool { return parentOfListener(l) == id })
	s.Pools.MergeSelected(r, pools, func(p api.Pool) bool { return parentOfPool(p) == id })
	s.state.Confirm(id, r)
	if !d.Members {
		return nil
	}
	for _, p := range pools {
		if _, _, err := s.Members.Read(ctx, p.ID); err != nil {
			return err
		}
		if p.MonitorID == "" {
			continue
		}
		if _, _, err := s.Monitors.Read(ctx, p.MonitorID); err != nil {
			return err
		}
	}
	return nil
}

// ensureParts reads the parts of a load balancer that are not known.
func (s *Store) ensureParts(ctx context.Context, id string, d Depth) error {
	if s.state.IsUncertain(id) {
		return s.readParts(ctx, id, d)
	}
	if d.Authoritative {
		return nil // read has just read them
	}
	if !d.complete {
		if err := refresh(ctx, s.Listeners, s.Pools); err != nil {
			return err
		}
	}
	if !d.Members {
		return nil
	}
	pools := s.Pools.Lookup(id)
	if !d.complete && slices.ContainsFunc(pools, func(p api.Pool) bool { return p.MonitorID != "" }) {
		if err := refresh(ctx, s.Monitors); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(pools, s.lacksMonitor) {
		// The list of pools is newer than that of health monitors.
		if err := reread(ctx, s.Monitors); err != nil {
			return err
		}
	}
	for _, p := range pools {
		if _, known := s.Members.Get(p.ID); !known && d.Checksums.lookup(p) != "" {
			continue
		}
		if _, _, err := s.Members.Ensure(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// lacksMonitor reports whether only the ID of a pool's health monitor is known.
func (s *Store) lacksMonitor(p api.Pool) bool {
	_, ok := s.Monitors.Get(p.MonitorID)
	return p.MonitorID != "" && !ok
}

// IgnoreMissing reports whether the read of one object has found none. It returns all other errors.
func IgnoreMissing(err error) (bool, error) {
	if cloudapi.Is(err, cloudapi.NotFound) {
		return true, nil
	}
	return false, err
}
