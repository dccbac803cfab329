package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// pool returns a pool for a change.
func (t *tx) pool(id, name string) (*loadBalancer, int, error) {
	lb, err := t.activeLoadBalancer(id)
	if err != nil {
		return nil, 0, err
	}
	i := poolIndex(lb, name)
	if i < 0 {
		return nil, 0, notFound("pool", name)
	}
	return lb, i, nil
}

func (t *tx) createPool(id string, p api.Pool) (api.Pool, error) {
	lb, err := t.activeLoadBalancer(id)
	if err != nil {
		return api.Pool{}, err
	}
	if err := validName("pool", p.Name); err != nil {
		return api.Pool{}, err
	}
	if poolIndex(lb, p.Name) >= 0 {
		return api.Pool{}, refuse(api.CodeAlreadyExists, "pool %q exists in load balancer %s", p.Name, id)
	}
	if err := validPool(p); err != nil {
		return api.Pool{}, err
	}
	if err := t.validMembers(p.Members); err != nil {
		return api.Pool{}, err
	}
	lb.Pools = append(lb.Pools, p)
	t.markChanged()
	return renderPool(p), nil
}

func (t *tx) updatePool(id, name string, patch api.PoolPatch) (api.Pool, error) {
	lb, i, err := t.pool(id, name)
	if err != nil {
		return api.Pool{}, err
	}
	p := lb.Pools[i]
	if patch.ProxyProtocol != nil {
		p.ProxyProtocol = *patch.ProxyProtocol
	}
	if patch.HealthCheck != nil {
		p.HealthCheck = *patch.HealthCheck
	}
	if patch.AffinitySeconds != nil {
		p.AffinitySeconds = *patch.AffinitySeconds
	}
	if patch.Algorithm != nil {
		p.Algorithm = *patch.Algorithm
	}
	if err := validPool(p); err != nil {
		return api.Pool{}, err
	}
	lb.Pools[i] = p
	t.markChanged()
	return renderPool(p), nil
}

// setMembers replaces the whole set.
func (t *tx) setMembers(id, name string, members []api.Member) (api.Pool, error) {
	lb, i, err := t.pool(id, name)
	if err != nil {
		return api.Pool{}, err
	}
	if err := t.validMembers(members); err != nil {
		return api.Pool{}, err
	}
	lb.Pools[i].Members = members
	t.markChanged()
	return renderPool(lb.Pools[i]), nil
}

func (t *tx) deletePool(id, name string) error {
	lb, i, err := t.pool(id, name)
	if err != nil {
		return err
	}
	for _, l := range lb.Listeners {
		if l.Pool == name {
			return refuse(api.CodeInUse, "pool %q is in use by listener %q", name, l.Name)
		}
	}
	lb.Pools = slices.Delete(lb.Pools, i, i+1)
	t.markChanged()
	return nil
}

// validMembers checks that every member's instance exists, and is listed once for each port.
func (t *tx) validMembers(members []api.Member) error {
	seen := make(map[api.Member]bool, len(members))
	for _, m := range members {
		if _, ok := t.Instances[m.InstanceID]; !ok {
			return invalid("member %q is not an instance of this cloud", m.InstanceID)
		}
		if err := validPort("member "+m.InstanceID, m.Port); err != nil {
			return err
		}
		if seen[m] {
			return invalid("member %s with port %d is given twice", m.InstanceID, m.Port)
		}
		seen[m] = true
	}
	return nil
}
