package neutron

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Check returns the inconsistencies of Neutron's objects.
func (t *Tx) Check() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, p := range t.Ports {
		for _, g := range p.Groups {
			if t.Groups[g] == nil {
				add("port %s has security group %s, which does not exist", p.ID, g)
			}
		}
	}
	for _, r := range t.Rules {
		if g := t.Groups[r.Group]; g == nil || !slices.Contains(g.Rules, r) {
			add("rule %s belongs to security group %s, which has no such rule", r.ID, r.Group)
		}
	}
	for _, f := range t.Addresses {
		if f.Port != nil && t.Ports[*f.Port] == nil {
			add("floating IP %s leads to port %s, which does not exist", f.Address, *f.Port)
		}
	}
	return append(problems, t.checkAddresses()...)
}

// checkAddresses compares the allocated addresses with those in use. The next hop of a foreign route is allocated
// without an owner.
func (t *Tx) checkAddresses() []error {
	used := map[string]map[string]bool{}
	use := func(subnet, address string) {
		if used[subnet] == nil {
			used[subnet] = map[string]bool{}
		}
		used[subnet][address] = true
	}
	for _, p := range t.Ports {
		for _, f := range p.FixedIPs {
			use(f.Subnet, f.Address)
		}
	}
	for _, f := range t.Addresses {
		use(f.subnet, f.Address)
	}
	for _, r := range t.Routers {
		if r.Gateway != nil {
			for _, f := range r.Gateway.FixedIPs {
				use(f.Subnet, f.Address)
			}
		}
	}
	var problems []error
	for subnet, addresses := range used {
		for address := range addresses {
			ip, err := netip.ParseAddr(address)
			gateway := t.Subnets[subnet].Gateway
			if err != nil || !t.Used[subnet][ip] && core.Deref(gateway) != address {
				problems = append(problems, fmt.Errorf("address %s of subnet %s is used and not allocated", address, subnet))
			}
		}
		if free := len(t.Used[subnet]) - len(addresses); free > len(t.Foreign) && !t.Exhausted[subnet] {
			problems = append(problems, fmt.Errorf("%d addresses of subnet %s are allocated and not used", free, subnet))
		}
	}
	return problems
}
