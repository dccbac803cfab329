package routes

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
)

var _ inventory.Lister = (*Routes)(nil)

// ListInventory implements inventory.Lister with the routes of this cluster. Nothing marks those of others as a
// cluster's.
func (r *Routes) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	list, err := r.source.List(ctx, request.ClusterName)
	found := inventory.Inventory{Cluster: request.ClusterName, Kinds: []inventory.Kind{{Name: kindRoute, Err: err}}}
	if err != nil {
		return found
	}
	mark := inventory.Mark{Cluster: request.ClusterName}
	if r.mark != nil {
		mark = r.mark(ctx, request.ClusterName)
	}
	for _, route := range list {
		if route.Owned {
			found.Objects = append(found.Objects, inventory.Object{Kind: kindRoute, ID: route.Name, Name: route.Destination,
				Mark: mark, Fields: []inventory.Field{{Name: "instance", Value: route.InstanceID}}})
		}
	}
	return found
}
