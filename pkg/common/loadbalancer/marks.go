package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// withoutIdleMarks removes the marks from a plan for a load balancer that was taken over, unless an edit of the Service
// causes a mark or a change of members, as that of a node port does, or the plan has other changes.
func withoutIdleMarks(p plan.Plan, j judge) plan.Plan {
	needsMarks := func(c plan.Change) bool { return !c.Mark && !c.Membership || j.causes.ofChange(c) }
	if !j.takenOver || slices.ContainsFunc(p.Changes, needsMarks) {
		return p
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool { return c.Mark })
	return p
}
