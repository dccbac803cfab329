package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// statusTree returns the response of /status: little more than names and statuses below listeners.
func (t *Tx) statusTree() (any, error) {
	b, err := t.balancer(t.Call.Params["id"])
	if err != nil {
		return nil, err
	}
	out := statusOf(&b.base)
	listeners := []any{}
	for _, l := range b.listeners {
		one := statusOf(&l.base)
		own := []any{}
		if p := t.Pools[core.Deref(l.DefaultPool)]; p != nil {
			own = append(own, t.poolStatus(p))
		}
		one["pools"] = own
		listeners = append(listeners, one)
	}
	out["listeners"] = listeners
	return map[string]any{"statuses": map[string]any{"loadbalancer": out}}, nil
}

func statusOf(o *base) map[string]any {
	return map[string]any{"id": o.ID, "name": o.Name, "provisioning_status": o.Provisioning,
		"operating_status": o.Operating}
}

func (t *Tx) poolStatus(p *pool) map[string]any {
	out := statusOf(&p.base)
	t.updateMemberStatus(p.members)
	members := []any{}
	for _, m := range p.members {
		one := statusOf(&m.base)
		one["address"], one["protocol_port"] = m.Address, m.Port
		members = append(members, one)
	}
	out["members"] = members
	if p.monitor != nil {
		one := statusOf(&p.monitor.base)
		one["type"] = p.monitor.Type
		out["health_monitor"] = one
	}
	return out
}
