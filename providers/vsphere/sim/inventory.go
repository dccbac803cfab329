package sim

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

var _ world.Inventory = (*Cloud)(nil)

// Inventory implements world.Inventory.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.mu.Lock()
	for name, m := range c.machines {
		out = append(out, world.NewObject("virtual machine", name, m.vm.Self.Value,
			map[string]any{"guest.ipAddress": m.address, "runtime.powerState": string(m.vm.Runtime.PowerState)}))
	}
	c.mu.Unlock()
	if c.nsx != nil {
		out = append(out, c.nsx.Inventory()...)
	}
	world.SortObjects(out)
	return out
}

var _ world.Reserver = (*Cloud)(nil)

// Reserve implements world.Reserver. The manager allocates the address that a Service names.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	if c.nsx == nil {
		return nil, "", errUnsupported
	}
	ip = c.nsx.Reserve()
	return []string{ip}, ip, nil
}

// Subnet implements world.Reserver. Load balancers are on a gateway, not in a subnet.
func (c *Cloud) Subnet() (string, error) { return nsxt.Tier1, nil }
