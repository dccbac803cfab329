package observe

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// find selects the load balancer, and others of its name.
func (s *Store) find(key Key) Observed {
	have := Observed{Named: key.Named, Addresses: key.Addresses}
	isDeleting := func(lb api.LoadBalancer) bool { return lb.ProvisioningStatus == api.PendingDelete }
	named := s.lookupNames(key)
	sorting.Func(named, func(a, b api.LoadBalancer) int {
		return cmp.Or(cmp.Compare(s.rank(key, a), s.rank(key, b)), cmp.Compare(a.ID, b.ID))
	})
	if lb, ok := s.LoadBalancers.Get(key.Named); ok && key.Named != "" && !isDeleting(lb) {
		have.LoadBalancer = &lb
		have.Others = slices.DeleteFunc(named, func(o api.LoadBalancer) bool { return o.ID == lb.ID || isDeleting(o) })
	} else if len(named) > 0 {
		have.LoadBalancer = &named[0]
		have.Others = slices.DeleteFunc(named[1:], isDeleting)
	} else if shared := s.sharedBy(key); len(shared) > 0 {
		have.LoadBalancer = &shared[0]
	}
	if lb := have.LoadBalancer; lb != nil {
		have.Proven = s.proves(key, *lb)
		have.Followed, have.mayFollow = s.follow(key, *lb)
	}
	s.mu.Lock()
	if s.denied.has(key.Named) {
		have.Denied = key.Named
	}
	have.FailoverRefused = have.LoadBalancer != nil && s.unrecoverable.has(have.LoadBalancer.ID)
	if lb := have.LoadBalancer; lb != nil {
		if lb.ProvisioningStatus == api.Active {
			s.abandoned.remove(lb.ID) // The cloud's operator has repaired it.
			s.unbuilt.remove(lb.ID)
		}
		have.Abandoned, have.Unbuilt = s.abandoned.has(lb.ID), s.unbuilt.has(lb.ID)
	}
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

// sharedBy returns the load balancers of other Services with the tag of this one: it shared them, and its annotation is
// lost. On a load balancer of another cluster the tag is that of a Service of the same name there.
func (s *Store) sharedBy(key Key) []api.LoadBalancer {
	return slices.DeleteFunc(s.LoadBalancers.Lookup(indexTag+key.LoadBalancer()), func(lb api.LoadBalancer) bool {
		return lb.ProvisioningStatus == api.PendingDelete || key.Foreign(lb) != ""
	})
}

// proves is Key.Proves with what only the snapshot shows: the floating IPs of a load balancer, and those that this
// process has created where Octavia has no tags.
func (s *Store) proves(key Key, lb api.LoadBalancer) bool {
	s.mu.Lock()
	created := s.untagged.has(lb.ID)
	s.mu.Unlock()
	return created || key.Proves(lb) || slices.ContainsFunc(s.addressesOf(lb), key.HasAddress)
}

// addressesOf returns the address of a load balancer, and its floating IPs.
func (s *Store) addressesOf(lb api.LoadBalancer) []string {
	addresses := []string{lb.VipAddress}
	if lb.VipPortID != "" {
		for _, f := range s.FloatingIPs.Lookup(indexPort + lb.VipPortID) {
			addresses = append(addresses, f.FloatingIP)
		}
	}
	return addresses
}

// follow returns the ID of a load balancer that an address proves to be this Service's, although it has the name of
// another cluster. undecided reports that only its members can prove that.
func (s *Store) follow(key Key, lb api.LoadBalancer) (followed string, undecided bool) {
	switch {
	case !key.mayFollow(lb):
		return "", false
	case key.followsAddress(lb, s.uniqueAddressesOf(lb)):
		return lb.ID, false
	}
	return "", true
}

// uniqueAddressesOf is addressesOf without an address that another load balancer of the project has in another network.
func (s *Store) uniqueAddressesOf(lb api.LoadBalancer) []string {
	addresses := s.addressesOf(lb)
	for _, other := range s.LoadBalancers.All() {
		if other.ID != lb.ID && model.SameIP(other.VipAddress, lb.VipAddress) {
			return addresses[1:]
		}
	}
	return addresses
}

// rank sorts load balancers of one name: this cluster's first, then those that are not being deleted, then
// those with the current name.
func (s *Store) rank(key Key, lb api.LoadBalancer) int {
	r := 0
	if key.Foreign(lb) != "" || !s.proves(key, lb) {
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
