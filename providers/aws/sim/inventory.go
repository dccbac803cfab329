package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

var _ world.Inventory = (*Cloud)(nil)

// Inventory implements world.Inventory. Like Objects, it omits terminated instances and network interfaces.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.inspect(func(t *tx) {
		out = t.Inventory()
		for _, g := range t.generations() {
			out = append(out, g.Inventory()...)
		}
	})
	world.SortObjects(out)
	return out
}
