package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// Schemes of a load balancer.
const (
	schemePublic   = "public"
	schemeInternal = "internal"
)

func (t *tx) loadBalancerByName(name string) *loadBalancer {
	for _, lb := range t.LoadBalancers {
		if lb.Name == name {
			return lb
		}
	}
	return nil
}

func (t *tx) loadBalancer(id string) (*loadBalancer, error) {
	if lb, ok := t.LoadBalancers[id]; ok {
		return lb, nil
	}
	return nil, notFound("load balancer", id)
}

// activeLoadBalancer returns the load balancer for a change of its children, which requires that it is active.
func (t *tx) activeLoadBalancer(id string) (*loadBalancer, error) {
	lb, err := t.loadBalancer(id)
	if err != nil {
		return nil, err
	}
	if lb.stateAt(t.now) != api.LBActive {
		return nil, refuse(api.CodeBusy, "load balancer %s is still provisioning: try again in %s", id, lb.ReadyAt.Sub(t.now))
	}
	return lb, nil
}

// createLoadBalancer rejects an existing name, so that a caller with a lost reply finds the load balancer by
// its name and does not create a second one.
func (t *tx) createLoadBalancer(spec api.LoadBalancerSpec) (api.LoadBalancer, error) {
	var zero api.LoadBalancer
	if err := validName("load balancer", spec.Name); err != nil {
		return zero, err
	}
	if have := t.loadBalancerByName(spec.Name); have != nil {
		return zero, refuse(api.CodeAlreadyExists, "load balancer %q exists: it is %s", spec.Name, have.ID)
	}
	if err := t.validateSpec(spec); err != nil {
		return zero, err
	}
	if err := t.withinQuota(quotaLoadBalancers, 1); err != nil {
		return zero, err
	}
	var internal []string
	if spec.Scheme == schemeInternal {
		ips, err := t.internalAddresses(spec.Families)
		if err != nil {
			return zero, err
		}
		internal = ips
	}
	lb := &loadBalancer{
		LoadBalancer: api.LoadBalancer{
			ID: t.newID("lb"), Name: spec.Name, Cluster: spec.Cluster, Scheme: spec.Scheme, Tags: spec.Tags,
			Subnets: spec.Subnets, Addresses: internal, Pools: []api.Pool{}, Listeners: []api.Listener{},
		},
		ReadyAt: t.now.Add(t.rules.provisionTime).UTC(),
	}
	t.LoadBalancers[lb.ID] = lb
	if spec.Scheme == schemePublic {
		t.attach(lb, spec.AddressIDs)
	}
	t.markChanged()
	return t.renderLoadBalancer(lb), nil
}

func (t *tx) validateSpec(spec api.LoadBalancerSpec) error {
	for i, family := range spec.Families {
		if err := validFamily(family); err != nil {
			return err
		}
		if slices.Contains(spec.Families[:i], family) {
			return invalid("family %s is given twice", family)
		}
	}
	if err := validSubnets(spec.Subnets); err != nil {
		return err
	}
	switch spec.Scheme {
	case schemePublic:
		return t.validateAddressIDs("", spec.AddressIDs)
	case schemeInternal:
		if len(spec.AddressIDs) > 0 {
			return invalid("an internal load balancer gets its addresses from the cloud: leave addressIDs empty")
		}
		return nil
	}
	return invalid("scheme %q is unknown: use %s or %s", spec.Scheme, schemePublic, schemeInternal)
}

// validateAddressIDs checks the addresses of a public load balancer; id is empty for a new one.
func (t *tx) validateAddressIDs(id string, addressIDs []string) error {
	if len(addressIDs) == 0 {
		return invalid("a public load balancer needs at least one address: allocate one first")
	}
	for i, addressID := range addressIDs {
		a, ok := t.Addresses[addressID]
		switch {
		case !ok:
			return notFound("address", addressID)
		case slices.Contains(addressIDs[:i], addressID):
			return invalid("address %s is given twice", addressID)
		case a.LoadBalancer != "" && a.LoadBalancer != id:
			return refuse(api.CodeInUse, "address %s (%s) is in use by load balancer %s", addressID, a.IP, a.LoadBalancer)
		}
	}
	return nil
}

// attach sets the addresses of the load balancer to addressIDs, which are valid, and detaches all others.
func (t *tx) attach(lb *loadBalancer, addressIDs []string) {
	t.detach(lb)
	lb.AddressIDs = slices.Clone(addressIDs)
	lb.Addresses = make([]string, 0, len(addressIDs))
	for _, id := range addressIDs {
		a := t.Addresses[id]
		a.LoadBalancer = lb.ID
		lb.Addresses = append(lb.Addresses, a.IP)
	}
}

func (t *tx) detach(lb *loadBalancer) {
	for _, id := range lb.AddressIDs {
		t.Addresses[id].LoadBalancer = ""
	}
}

// internalAddresses allocates one address of each family, IPv4 if none is given.
func (t *tx) internalAddresses(families []string) ([]string, error) {
	if len(families) == 0 {
		families = []string{familyIPv4}
	}
	free := newAllocator()
	for _, lb := range t.LoadBalancers {
		if lb.Scheme == schemeInternal {
			free.markUsed(lb.Addresses...)
		}
	}
	ips := make([]string, 0, len(families))
	for _, family := range families {
		ip, err := free.allocate(t.rules.internal, family, "internal load balancers")
		if err != nil {
			return nil, err
		}
		ips = append(ips, ip)
	}
	return ips, nil
}

func (t *tx) updateLoadBalancer(id string, patch api.LoadBalancerPatch) (api.LoadBalancer, error) {
	lb, err := t.loadBalancer(id)
	if err != nil {
		return api.LoadBalancer{}, err
	}
	if patch.AddressIDs != nil {
		if lb.Scheme == schemeInternal {
			return api.LoadBalancer{}, invalid("the addresses of an internal load balancer cannot be changed")
		}
		if err := t.validateAddressIDs(id, *patch.AddressIDs); err != nil {
			return api.LoadBalancer{}, err
		}
	}
	if patch.Subnets != nil {
		if err := validSubnets(*patch.Subnets); err != nil {
			return api.LoadBalancer{}, err
		}
		lb.Subnets = *patch.Subnets
	}
	if patch.AddressIDs != nil {
		t.attach(lb, *patch.AddressIDs)
	}
	if patch.Tags != nil {
		lb.Tags = *patch.Tags
	}
	t.markChanged()
	return t.renderLoadBalancer(lb), nil
}

// deleteLoadBalancer deletes it with its pools and listeners, in any state, and detaches its addresses
// without releasing them.
func (t *tx) deleteLoadBalancer(id string) error {
	lb, err := t.loadBalancer(id)
	if err != nil {
		return err
	}
	t.detach(lb)
	delete(t.LoadBalancers, id)
	t.markChanged()
	return nil
}
