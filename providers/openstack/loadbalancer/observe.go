package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Observed is what exists of one Service's load balancer. It is shared between readers: nobody
// changes what it points to.
type Observed struct {
	// LoadBalancer is nil if there is none: the one that the Service names if it exists, else the one of our name.
	LoadBalancer *api.LoadBalancer
	// Others have our name too.
	Others []api.LoadBalancer
	// Refused is the ID that the Service names, if we may not look at that load balancer.
	Refused string
	// Listeners and Pools are all of the load balancer's, whoever they are for.
	Listeners []api.Listener
	Pools     []Pool
	// FloatingIPs are those at the load balancer's port, and those that were made for the Service.
	FloatingIPs []api.FloatingIP
	// Groups have the name of the Service's security group; GroupPorts use one of them.
	Groups     []api.SecurityGroup
	GroupPorts []api.Port
	// named is the ID of the load balancer that the Service names.
	named string
	// project are all floating IPs of the project: one of them may have the address that the Service asks for.
	project []api.FloatingIP
}

// Pool is a pool with what is in it.
type Pool struct {
	api.Pool
	Members []api.Member
	// Monitor is nil if there is none.
	Monitor *api.HealthMonitor
	// sealed stands in for the members where they were not read: a hash of what they are known to be.
	sealed string
}

// depth says how much to read.
type depth struct {
	authoritative bool
	// members of the pools, and how they are probed.
	members bool
	// groups that open node ports.
	groups bool
	// known says that the lists can tell nothing new.
	known bool
	// seals are what the Service remembers of members.
	seals seals
}

// observe returns what exists.
func (s *store) observe(ctx context.Context, key serviceKey, d depth) (Observed, error) {
	if !d.authoritative {
		return s.cached(ctx, key, d)
	}
	if !s.justRead(key, d) || s.promising(key) {
		if err := s.read(ctx, key, d); err != nil {
			return Observed{}, err
		}
	}
	return s.assemble(ctx, key, d)
}

// cached answers from the shared lists.
func (s *store) cached(ctx context.Context, key serviceKey, d depth) (Observed, error) {
	if s.doubtful(key) {
		if err := s.read(ctx, key, d); err != nil {
			return Observed{}, err
		}
		return s.assemble(ctx, key, d)
	}
	if s.known(key) && (key.named == "" || s.knows(key.named)) {
		d.known = true
		return s.assemble(ctx, key, d)
	}
	if err := s.refresh(ctx, listBalancers, listFloatingIPs); err != nil {
		return Observed{}, err
	}
	if d.groups {
		if err := s.refresh(ctx, listGroups, listPorts); err != nil {
			return Observed{}, err
		}
	}
	if key.named != "" && !s.knows(key.named) {
		// It is no load balancer of the project's lists: gone, or somebody else's.
		if err := s.readNamed(ctx, key.named); err != nil {
			return Observed{}, err
		}
	}
	return s.assemble(ctx, key, d)
}

// assemble puts together what the store has, and reads what is read for each load balancer alone.
func (s *store) assemble(ctx context.Context, key serviceKey, d depth) (Observed, error) {
	have := s.find(key)
	lb := have.LoadBalancer
	if lb == nil {
		return have, nil
	}
	if err := s.children(ctx, *lb, d); err != nil {
		return Observed{}, err
	}
	return s.withChildren(have, d), nil
}

// find selects the load balancer and what is beside it.
func (s *store) find(key serviceKey) Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, legacy := names.LoadBalancer(key.ClusterName, serviceOf(key.Key)), names.LegacyLoadBalancer(key.UID)
	have := Observed{named: key.named}
	named := s.balancers.all(func(lb api.LoadBalancer) bool {
		return lb.Name == name || lb.Name == legacy && key.UID != ""
	})
	slices.SortFunc(named, func(a, b api.LoadBalancer) int {
		return cmp.Or(cmp.Compare(rank(key, a, name), rank(key, b, name)), cmp.Compare(a.ID, b.ID))
	})
	if lb, ok := s.balancers.get(key.named); ok && key.named != "" && lb.ProvisioningStatus != api.PendingDelete {
		have.LoadBalancer = &lb
		have.Others = slices.DeleteFunc(named, func(o api.LoadBalancer) bool { return o.ID == lb.ID || o.ProvisioningStatus == api.PendingDelete })
	} else if guest := s.sharedBy(name); guest != nil && len(named) == 0 {
		have.LoadBalancer = guest
	} else if len(named) > 0 {
		have.LoadBalancer = &named[0]
		have.Others = slices.DeleteFunc(named[1:], func(o api.LoadBalancer) bool { return o.ProvisioningStatus == api.PendingDelete })
	}
	if s.refused[key.named] {
		have.Refused = key.named
	}
	have.FloatingIPs = s.fips.all(func(f api.FloatingIP) bool {
		return madeFor(key, f) || have.LoadBalancer != nil && f.PortID != "" && f.PortID == have.LoadBalancer.VipPortID
	})
	slices.SortFunc(have.FloatingIPs, func(a, b api.FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	have.project = s.fips.all(func(api.FloatingIP) bool { return true })
	group := names.SecurityGroup(key.UID, serviceOf(key.Key))
	have.Groups = s.groups.all(func(g api.SecurityGroup) bool { return g.Name == group })
	slices.SortFunc(have.Groups, func(a, b api.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	have.GroupPorts = s.ports.all(func(p api.Port) bool {
		return slices.ContainsFunc(have.Groups, func(g api.SecurityGroup) bool { return slices.Contains(p.SecurityGroups, g.ID) })
	})
	slices.SortFunc(have.GroupPorts, func(a, b api.Port) int { return cmp.Compare(a.ID, b.ID) })
	return have
}

// rank puts the one to use first: this cluster's, not on its way out, and of today's name.
func rank(key serviceKey, lb api.LoadBalancer, name string) int {
	r := 0
	if foreign(key, lb) != "" || !proven(key, lb) {
		r += 4
	}
	if lb.ProvisioningStatus == api.PendingDelete {
		r += 2
	}
	if lb.Name != name {
		r++
	}
	return r
}

// sharedBy is another Service's load balancer that carries our tag: we shared it, and the annotation is lost.
func (s *store) sharedBy(name string) *api.LoadBalancer {
	found := s.balancers.all(func(lb api.LoadBalancer) bool {
		return slices.Contains(lb.Tags, names.ServiceTag(name)) && lb.ProvisioningStatus != api.PendingDelete
	})
	if len(found) == 0 {
		return nil
	}
	first := slices.MinFunc(found, func(a, b api.LoadBalancer) int { return strings.Compare(a.ID, b.ID) })
	return &first
}

// withChildren adds listeners and pools.
func (s *store) withChildren(have Observed, d depth) Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := have.LoadBalancer.ID
	have.Listeners = s.listeners.all(func(l api.Listener) bool { return parentOfListener(l) == id })
	slices.SortFunc(have.Listeners, func(a, b api.Listener) int {
		return cmp.Or(cmp.Compare(a.ProtocolPort, b.ProtocolPort), cmp.Compare(a.ID, b.ID))
	})
	for _, p := range s.pools.all(func(p api.Pool) bool { return parentOfPool(p) == id }) {
		pool := Pool{Pool: p}
		if d.members {
			if known, ok := s.members[p.ID]; ok {
				pool.Members = known.list
			} else {
				pool.sealed = d.seals.of(p)
			}
			pool.Monitor = s.monitorOf(p)
		}
		have.Pools = append(have.Pools, pool)
	}
	slices.SortFunc(have.Pools, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return have
}

// parentOfListener returns the ID of the load balancer that a listener is in.
func parentOfListener(l api.Listener) string {
	if len(l.Loadbalancers) == 0 {
		return ""
	}
	return l.Loadbalancers[0].ID
}

// parentOfPool returns the ID of the load balancer that a pool is in.
func parentOfPool(p api.Pool) string {
	if len(p.Loadbalancers) == 0 {
		return ""
	}
	return p.Loadbalancers[0].ID
}

// ignoreGone turns "not found" into an empty answer, for reads of one object.
func ignoreGone(err error) (bool, error) {
	if cloudapi.Is(err, cloudapi.NotFound) {
		return true, nil
	}
	return false, err
}
