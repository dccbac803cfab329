package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	servers := c.servers()
	return c.store.Inventory(ctx, request, func(server string) bool { return servers[server] })
}
