package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// read asks the cloud about one Service alone, in all clusters: a load balancer of our name that is
// another cluster's must be seen to be refused.
func (s *store) read(ctx context.Context, key serviceKey, d depth) error {
	at := s.clock.Now()
	named, err := s.readReference(ctx, key)
	if err != nil {
		return err
	}
	// Whole lists: names that managers of the past gave are looked for too, while filters know one name
	// at a time, and everybody who asks meanwhile shares them.
	lists := []kind{listFloatingIPs}
	if !named {
		lists = append(lists, listBalancers)
	}
	if err := s.join(ctx, lists...); err != nil {
		return err
	}
	if d.groups {
		if err := s.readGroups(ctx, key); err != nil {
			return err
		}
	}
	have := s.find(key)
	if have.LoadBalancer != nil {
		if err := s.readChildren(ctx, *have.LoadBalancer, d); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubts, subject(key))
	s.looked[subject(key)] = lookedAt{at: at, members: d.members, groups: d.groups}
	return nil
}

// readReference reads the load balancer that the Service names, and says whether it is there to be used.
func (s *store) readReference(ctx context.Context, key serviceKey) (bool, error) {
	if key.named == "" {
		return false, nil
	}
	if err := s.readNamed(ctx, key.named); err != nil {
		return false, err
	}
	return s.uses(key), nil
}

// uses says whether the load balancer that the Service names is there to be used.
func (s *store) uses(key serviceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, ok := s.balancers.get(key.named)
	return ok && lb.ProvisioningStatus != api.PendingDelete
}

// readGroups reads the Service's security group, and the ports that use it.
func (s *store) readGroups(ctx context.Context, key serviceKey) error {
	before := s.mark()
	name := names.SecurityGroup(key.UID, serviceOf(key.Key))
	groups, err := s.api.ListSecurityGroups(ctx, name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.groups.replace(groups, groupID, before, func(g api.SecurityGroup) bool { return g.Name == name })
	s.mu.Unlock()
	for _, g := range groups {
		before := s.mark()
		ports, err := s.api.ListPorts(ctx, api.PortFilter{SecurityGroup: g.ID})
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.ports.replace(ports, portID, before, func(p api.Port) bool { return slices.Contains(p.SecurityGroups, g.ID) })
		s.mu.Unlock()
	}
	return nil
}

// readChildren reads what is in one load balancer.
func (s *store) readChildren(ctx context.Context, lb api.LoadBalancer, d depth) error {
	before := s.mark()
	listeners, err := s.api.ListListeners(ctx, lb.ID)
	if err != nil {
		return err
	}
	pools, err := s.api.ListPools(ctx, lb.ID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.listeners.replace(listeners, listenerID, before, func(l api.Listener) bool { return parentOfListener(l) == lb.ID })
	s.pools.replace(pools, poolID, before, func(p api.Pool) bool { return parentOfPool(p) == lb.ID })
	delete(s.doubts, lb.ID)
	s.mu.Unlock()
	if !d.members {
		return nil
	}
	for _, p := range pools {
		if err := s.readMembers(ctx, p.ID); err != nil {
			return err
		}
		if p.MonitorID != "" {
			if err := s.readMonitor(ctx, p.MonitorID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) readMonitor(ctx context.Context, id string) error {
	before := s.mark()
	monitor, err := s.api.GetHealthMonitor(ctx, id)
	if gone, err := ignoreGone(err); gone || err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitors.saw(id, monitor, before)
	return nil
}

func (s *store) readMembers(ctx context.Context, pool string) error {
	before, at := s.mark(), s.clock.Now()
	list, err := s.api.ListMembers(ctx, pool)
	if gone, err := ignoreGone(err); gone || err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.members[pool]; m.writtenAt > before {
		return nil
	}
	s.members[pool] = memberList{list: list, readAt: at}
	return nil
}

// children makes sure that what is in a load balancer is known.
func (s *store) children(ctx context.Context, lb api.LoadBalancer, d depth) error {
	s.mu.Lock()
	doubt := s.doubts[lb.ID]
	s.mu.Unlock()
	if doubt {
		return s.readChildren(ctx, lb, d)
	}
	if d.authoritative {
		return nil // read has just read them
	}
	if !d.known {
		if err := s.refresh(ctx, listListeners, listPools); err != nil {
			return err
		}
	}
	if !d.members {
		return nil
	}
	pools, monitored := s.unread(lb.ID, d.seals)
	if monitored && !d.known {
		if err := s.refresh(ctx, listMonitors); err != nil {
			return err
		}
	}
	if s.unmonitored(lb.ID) {
		// The list of pools is newer than that of health monitors.
		if err := s.join(ctx, listMonitors); err != nil {
			return err
		}
	}
	for _, id := range pools {
		if err := s.readMembers(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// unmonitored says whether a pool of a load balancer has a health monitor of which no more than its ID is known.
func (s *store) unmonitored(balancer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pools.all(func(p api.Pool) bool {
		_, ok := s.monitors.get(p.MonitorID)
		return parentOfPool(p) == balancer && p.MonitorID != "" && !ok
	})) > 0
}

// unread are the pools of a load balancer whose members are not known, or were read too long ago,
// and whether any pool is monitored.
func (s *store) unread(balancer string, known seals) (pools []string, monitored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.clock.Now().Add(-objectAge)
	for _, p := range s.pools.all(func(p api.Pool) bool { return parentOfPool(p) == balancer }) {
		monitored = monitored || p.MonitorID != ""
		m, ok := s.members[p.ID]
		if ok && !m.readAt.After(oldest) || !ok && known.of(p) == "" {
			pools = append(pools, p.ID)
		}
	}
	slices.Sort(pools)
	return pools, monitored
}
