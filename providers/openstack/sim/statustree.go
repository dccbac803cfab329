package sim

// statusTree returns what /status shows: names and statuses of what is below listeners, and little more.
func (t *tx) statusTree() (any, error) {
	b, err := t.balancer(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	out := statusOf(&b.octaviaObject)
	listeners := []any{}
	for _, l := range b.listeners {
		one := statusOf(&l.octaviaObject)
		own := []any{}
		if p := t.pools[deref(l.DefaultPool)]; p != nil {
			own = append(own, t.poolStatus(p))
		}
		one["pools"] = own
		listeners = append(listeners, one)
	}
	out["listeners"] = listeners
	return map[string]any{"statuses": map[string]any{"loadbalancer": out}}, nil
}

func statusOf(o *octaviaObject) map[string]any {
	return map[string]any{"id": o.ID, "name": o.Name, "provisioning_status": o.Provisioning,
		"operating_status": o.Operating}
}

func (t *tx) poolStatus(p *pool) map[string]any {
	out := statusOf(&p.octaviaObject)
	t.updateMemberStatus(p.members)
	members := []any{}
	for _, m := range p.members {
		one := statusOf(&m.octaviaObject)
		one["address"], one["protocol_port"] = m.Address, m.Port
		members = append(members, one)
	}
	out["members"] = members
	if p.monitor != nil {
		one := statusOf(&p.monitor.octaviaObject)
		one["type"] = p.monitor.Type
		out["health_monitor"] = one
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
