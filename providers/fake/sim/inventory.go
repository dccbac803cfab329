package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

var _ world.Inventory = (*Cloud)(nil)

// Inventory implements world.Inventory. Pools and listeners are objects of their own.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.viewLastKnown(func(t *tx) {
		for id, i := range t.Instances {
			out = append(out, world.NewObject("instance", i.Name, id, t.renderInstance(i)))
		}
		for id, a := range t.Addresses {
			out = append(out, world.NewObject("address", a.Name, id, t.renderAddress(a)))
		}
		for id, lb := range t.LoadBalancers {
			view := t.renderLoadBalancer(lb)
			for _, p := range view.Pools {
				out = append(out, world.NewObject("pool", p.Name, id+"/"+p.Name, p))
			}
			for _, l := range view.Listeners {
				out = append(out, world.NewObject("listener", l.Name, id+"/"+l.Name, l))
			}
			view.Pools, view.Listeners = nil, nil
			out = append(out, world.NewObject("load balancer", lb.Name, id, view))
		}
		for id, r := range t.Routes {
			out = append(out, world.NewObject("route", r.Destination, id, t.renderRoute(r)))
		}
	})
	world.SortObjects(out)
	return out
}

var _ world.Reserver = (*Cloud)(nil)

// Reserve implements world.Reserver. The manager allocates the address that a Service names.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	err = c.view(func(t *tx) error {
		addr := t.rules.public[0].Masked().Addr()
		for range reservedHost {
			addr = addr.Next()
		}
		ip = addr.String()
		return nil
	})
	return []string{ip}, ip, err
}

// reservedHost is the number of the address in its pool.
const reservedHost = 77

// Subnet implements world.Reserver. Subnets have names only.
func (c *Cloud) Subnet() (string, error) { return "subnet-b", nil }
