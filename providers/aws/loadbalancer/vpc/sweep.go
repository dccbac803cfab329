package vpc

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// RuleOwner identifies the rules of one load balancer on groups that no query has included.
type RuleOwner struct {
	// LoadBalancer is its name, which is part of the descriptions of its rules by address.
	LoadBalancer string
	// Groups are the IDs of its security groups, which rules of nodes refer to.
	Groups []string
}

func (o RuleOwner) hasRulesIn(group Group) bool {
	return slices.ContainsFunc(group.Rules, func(r Rule) bool {
		return r.Description == names.ClientRule(o.LoadBalancer) || r.Description == names.HealthRule(o.LoadBalancer) ||
			r.Protocol == ProtocolAll && slices.Contains(o.Groups, r.SourceGroup) && r.SourceGroup != group.ID
	})
}

// Sweep reads all groups of the VPC, for Find: 1,000 a page, once for all callers within half a minute. EC2 has no
// filter for descriptions.
func (s *GroupStore) Sweep(ctx context.Context) error { return s.all.Refresh(ctx) }

// Find adds to the snapshot the groups of the last sweep that have rules of a load balancer, and its own groups. Groups
// without the cluster's tag are found in no other way once the nodes that used them are deleted.
func (s *GroupStore) Find(o RuleOwner) {
	swept, _ := s.all.Listed()
	for _, group := range s.all.Select(func(g Group) bool { return o.hasRulesIn(g) || slices.Contains(o.Groups, g.ID) }) {
		if _, known := s.groups.Get(group.ID); !known {
			s.groups.Merge(swept, group.ID, group)
			s.addNeeded([]string{group.ID}) // until its rules are removed
		}
	}
}
