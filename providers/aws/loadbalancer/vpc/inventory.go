package vpc

import (
	"cmp"
	"context"
	"maps"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// List returns all groups of the VPC by ID, from the last sweep if it is fresh.
func (s *GroupStore) List(ctx context.Context) ([]Group, error) {
	if err := s.Sweep(ctx); err != nil {
		return nil, err
	}
	return sorting.SortedFunc(maps.Values(s.all.All()), func(a, b Group) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// RulesID identifies the rules of a group for the traffic from a load balancer, by its name, or from another group, in
// plans and in the inventory.
func RulesID(group, from string) string { return group + " " + from }
