package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// statusTree returns the names and statuses of a load balancer and its children below its listeners.
func (t *Tx) statusTree() (any, error) {
	b, err := t.balancer(t.Call.Params["id"])
	if err != nil {
		return nil, err
	}
	out := newStatus(&b.base)
	listeners := []any{}
	for _, l := range b.listeners {
		status, pools := newStatus(&l.base), []any{}
		if p := t.Pools[core.Deref(l.DefaultPool)]; p != nil {
			pools = append(pools, t.poolStatus(p))
		}
		status["pools"] = pools
		listeners = append(listeners, status)
	}
	out["listeners"] = listeners
	return map[string]any{"statuses": map[string]any{"loadbalancer": out}}, nil
}

func newStatus(o *base) map[string]any {
	return map[string]any{"id": o.ID, "name": o.Name, "provisioning_status": o.Provisioning,
		"operating_status": o.Operating}
}

func (t *Tx) poolStatus(p *pool) map[string]any {
	out := newStatus(&p.base)
	t.updateMemberStatus(p.members)
	members := []any{}
	for _, m := range p.members {
		status := newStatus(&m.base)
		status["address"], status["protocol_port"] = m.Address, m.Port
		members = append(members, status)
	}
	out["members"] = members
	if p.monitor != nil {
		status := newStatus(&p.monitor.base)
		status["type"] = p.monitor.Type
		out["health_monitor"] = status
	}
	return out
}
