package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// withoutIdleMarks removes the marks from a plan for a load balancer that was taken over, unless the plan has
// other changes than members, or a field that the marks follow from has changed.
func withoutIdleMarks(p plan.Plan, in HoldInput) plan.Plan {
	needsMarks := func(c plan.Change) bool {
		return !c.Mark && !c.Membership || c.Mark && len(in.Applied.Changed(in.Fields, c.Follows)) > 0
	}
	if !in.TakenOver || slices.ContainsFunc(p.Changes, needsMarks) {
		return p
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool { return c.Mark })
	return p
}
