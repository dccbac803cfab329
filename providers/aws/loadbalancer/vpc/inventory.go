package vpc

import (
	"context"
)

// List returns all groups of the VPC by ID, from the last sweep if it is fresh.
func (s *GroupStore) List(ctx context.Context) ([]Group, error) {
	if err := s.Sweep(ctx); err != nil {
		return nil, err
	}
	return Groups{byID: s.all.All()}.All(), nil
}

// RulesID identifies the rules of a group for the traffic from a load balancer, by its name, or from another group, in
// plans and in the inventory.
func RulesID(group, from string) string { return group + " " + from }
