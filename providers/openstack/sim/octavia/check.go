package octavia

import (
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

// Check returns the inconsistencies of load balancers.
func (t *Tx) Check() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, b := range t.Balancers {
		problems = append(problems, t.checkBalancer(b)...)
	}
	for _, l := range t.Listeners {
		if t.Balancers[l.balancer.ID] != l.balancer || !slices.Contains(l.balancer.listeners, l) {
			add("listener %s belongs to load balancer %s, which has no such listener", l.ID, l.balancer.ID)
		}
	}
	for _, p := range t.Pools {
		if t.Balancers[p.balancer.ID] != p.balancer || !slices.Contains(p.balancer.pools, p) {
			add("pool %s belongs to load balancer %s, which has no such pool", p.ID, p.balancer.ID)
		}
	}
	for _, m := range t.Monitors {
		if t.Pools[m.pool.ID] != m.pool || m.pool.monitor != m {
			add("monitor %s belongs to pool %s, which has another or none", m.ID, m.pool.ID)
		}
	}
	return problems
}

func (t *Tx) checkBalancer(b *balancer) []error {
	var problems []error
	if p := t.Ports[b.VIPPort]; p != nil && p.DeviceID != "lb-"+b.ID && p.DeviceOwner == neutron.OwnerLoadBalancer {
		problems = append(problems, fmt.Errorf("load balancer %s has VIP port %s, which belongs to %s", b.ID, p.ID,
			p.DeviceID))
	}
	for _, l := range b.listeners {
		if l.DefaultPool != nil && (t.Pools[*l.DefaultPool] == nil || t.Pools[*l.DefaultPool].balancer != b) {
			problems = append(problems, fmt.Errorf("listener %s has pool %s, which its load balancer does not have", l.ID,
				*l.DefaultPool))
		}
	}
	return problems
}
