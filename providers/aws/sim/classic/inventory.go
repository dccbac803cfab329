package classic

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

// Inventory returns the load balancers with their listeners, policies, attributes and tags.
func (t *Tx) Inventory() []world.Object {
	var out []world.Object
	for name, b := range t.balancers {
		out = append(out, world.NewObject("classic load balancer", name, name, t.viewBalancer(b),
			map[string]any{"Attributes": b.attributes, "Tags": t.Tags[TagKey(name)]}))
	}
	return out
}
