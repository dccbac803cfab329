package inventory

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// Listers combines the Listers of the parts of a provider. The first part knows the name of the cluster in marks.
type Listers []Lister

// ListInventory implements Lister. The parts are listed concurrently.
func (l Listers) ListInventory(ctx context.Context, request Request) Inventory {
	results := make([]Inventory, len(l))
	var lists panics.Group
	for i, lister := range l {
		lists.Go(func() error { results[i] = lister.ListInventory(ctx, request); return nil })
	}
	_ = lists.Wait() // Each kind has its own error.
	var all Inventory
	for i, part := range results {
		if i == 0 {
			all.Cluster = part.Cluster
		}
		all.Kinds = append(all.Kinds, part.Kinds...)
		all.Objects = append(all.Objects, part.Objects...)
	}
	return all
}
