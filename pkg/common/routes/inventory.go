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
	for _, route := range list {
		if !route.Owned {
			continue
		}
		object := inventory.Object{Kind: kindRoute, ID: route.Name, Name: route.Destination, Created: route.Created,
			Fields: []inventory.Field{{Name: "instance", Value: route.InstanceID}}}
		if route.Marked {
			object.Mark.UID = request.ClusterUID
		}
		found.Objects = append(found.Objects, object)
	}
	return found
}
