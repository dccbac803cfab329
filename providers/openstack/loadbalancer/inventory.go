package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	servers := map[string]bool{}
	if c.nodes.Lister() != nil {
		all, err := c.nodes.All()
		if err != nil {
			all = nil // then nothing proves that a security group is this cluster's
		}
		for _, node := range all {
			if id, err := c.serverID(node.Spec.ProviderID); err == nil {
				servers[id] = true
			}
		}
	}
	return c.store.Inventory(ctx, request, func(server string) bool { return servers[server] })
}
