package classic

import (
	"context"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// InventoryID identifies a classic load balancer, which has no ID, in plans and in the inventory: one of the other
// generation may have the same name.
func InventoryID(name string) string { return "classic/" + name }

// List returns the classic load balancers of the VPC that have a name of ours, with their tags, from the shared list.
func (c *Cloud) List(ctx context.Context) ([]Balancer, error) {
	if err := c.store.balancers.Refresh(ctx); err != nil {
		return nil, err
	}
	var list []Balancer
	for _, name := range slices.Sorted(maps.Keys(c.store.balancers.All())) {
		b, _ := c.store.balancers.Get(name)
		if b.VPC != c.options.VPC || !names.IsLoadBalancerName(name) {
			continue
		}
		if err := c.store.readDetails(ctx, name, marked); cloudapi.Is(err, cloudapi.NotFound) {
			continue // deleted since the list
		} else if err != nil {
			return nil, err
		}
		if b := c.store.get(name); b != nil {
			list = append(list, *b)
		}
	}
	return list, nil
}
