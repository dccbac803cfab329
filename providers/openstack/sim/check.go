package sim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Check returns all inconsistencies of the state, joined.
func (c *Cloud) Check() (err error) {
	c.inspect(func(t *tx) { err = t.check() })
	return err
}

// check verifies the rules that hold between operations: no reference dangles, both ends of each relation agree, and
// exactly the addresses in use are taken.
func (t *tx) check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, p := range t.ports {
		for _, g := range p.Groups {
			if t.groups[g] == nil {
				add("port %s has security group %s, which does not exist", p.ID, g)
			}
		}
	}
	for _, r := range t.rules {
		if g := t.groups[r.Group]; g == nil || !slices.Contains(g.Rules, r) {
			add("rule %s belongs to security group %s, which has no such rule", r.ID, r.Group)
		}
	}
	for _, f := range t.addresses {
		if f.Port != nil && t.ports[*f.Port] == nil {
			add("floating IP %s leads to port %s, which does not exist", f.Address, *f.Port)
		}
	}
	problems = append(problems, t.checkBalancers()...)
	return errors.Join(append(problems, t.checkAddresses()...)...)
}

func (t *tx) checkBalancers() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, b := range t.balancers {
		problems = append(problems, t.checkBalancer(b)...)
	}
	for _, l := range t.listeners {
		if t.balancers[l.balancer.ID] != l.balancer || !slices.Contains(l.balancer.listeners, l) {
			add("listener %s belongs to load balancer %s, which has no such listener", l.ID, l.balancer.ID)
		}
	}
	for _, p := range t.pools {
		if t.balancers[p.balancer.ID] != p.balancer || !slices.Contains(p.balancer.pools, p) {
			add("pool %s belongs to load balancer %s, which has no such pool", p.ID, p.balancer.ID)
		}
	}
	for _, m := range t.monitors {
		if t.pools[m.pool.ID] != m.pool || m.pool.monitor != m {
			add("monitor %s belongs to pool %s, which has another or none", m.ID, m.pool.ID)
		}
	}
	return problems
}

func (t *tx) checkBalancer(b *balancer) []error {
	var problems []error
	if p := t.ports[b.VIPPort]; p != nil && p.DeviceID != "lb-"+b.ID && p.DeviceOwner == ownerLoadBalancer {
		problems = append(problems, fmt.Errorf("load balancer %s has VIP port %s, which belongs to %s", b.ID, p.ID,
			p.DeviceID))
	}
	for _, l := range b.listeners {
		if l.DefaultPool != nil && (t.pools[*l.DefaultPool] == nil || t.pools[*l.DefaultPool].balancer != b) {
			problems = append(problems, fmt.Errorf("listener %s has pool %s, which its load balancer has not", l.ID,
				*l.DefaultPool))
		}
	}
	return problems
}

// checkAddresses compares the addresses that are taken with those in use. The hop of a foreign route is allocated
// without an owner.
func (t *tx) checkAddresses() []error {
	want := map[string]map[string]bool{}
	use := func(subnet, address string) {
		if want[subnet] == nil {
			want[subnet] = map[string]bool{}
		}
		want[subnet][address] = true
	}
	for _, p := range t.ports {
		for _, f := range p.FixedIPs {
			use(f.Subnet, f.Address)
		}
	}
	for _, f := range t.addresses {
		use(f.subnet, f.Address)
	}
	for _, r := range t.routers {
		if r.Gateway != nil {
			for _, f := range r.Gateway.FixedIPs {
				use(f.Subnet, f.Address)
			}
		}
	}
	var problems []error
	for subnet, addresses := range want {
		for address := range addresses {
			ip, err := netip.ParseAddr(address)
			gateway := t.subnets[subnet].Gateway
			if err != nil || !t.used[subnet][ip] && deref(gateway) != address {
				problems = append(problems, fmt.Errorf("address %s of subnet %s is used and not taken", address, subnet))
			}
		}
		if free := len(t.used[subnet]) - len(addresses); free > len(t.foreign) && !t.exhausted[subnet] {
			problems = append(problems, fmt.Errorf("%d addresses of subnet %s are taken and not used", free, subnet))
		}
	}
	return problems
}
