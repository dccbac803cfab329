package octavia

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

// Inventory returns the load balancers of the cluster's project with their listeners, pools, members and health
// monitors.
func (t *Tx) Inventory() []world.Object {
	var out []world.Object
	for id, b := range t.Balancers {
		if b.Project != t.Cluster.Project {
			continue
		}
		b.refresh()
		out = append(out, world.NewObject("load balancer", b.Name, id, b))
		for _, l := range b.listeners {
			out = append(out, world.NewObject("listener", l.Name, l.ID, l))
		}
		for _, p := range b.pools {
			out = append(out, p.inventory()...)
		}
	}
	return out
}

func (p *pool) inventory() []world.Object {
	p.refresh()
	out := []world.Object{world.NewObject("pool", p.Name, p.ID, p)}
	for _, m := range p.members {
		out = append(out, world.NewObject("member", m.Name, m.ID, m))
	}
	if p.monitor != nil {
		out = append(out, world.NewObject("health monitor", p.monitor.Name, p.monitor.ID, p.monitor))
	}
	return out
}
