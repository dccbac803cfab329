package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// closesAccess is a change by which a network loses access.
var closesAccess = plan.Effect{
	Change:   "a network is no longer allowed to reach a load balancer, or nodes that receive traffic",
	Disrupts: plan.DisruptsTraffic,
	Causes: []plan.FieldSet{
		annotation.Listeners(), annotation.TargetGroups(), annotation.Zones(), annotation.Groups(), intent.SourceRanges(),
		annotation.HealthCheckPort(),
	},
}

// leavesGroup is a change by which a load balancer leaves a security group.
var leavesGroup = plan.Effect{
	Change: "a load balancer leaves a security group", Disrupts: plan.DisruptsTraffic,
	Causes: []plan.FieldSet{annotation.Groups()},
}

// Effects returns the disruptive changes of security groups.
func Effects() []plan.Effect { return []plan.Effect{closesAccess, leavesGroup} }

// DeclareGroups sets what a change of the load balancer's security groups disrupts: traffic if one is removed
// that allowed some, nothing if groups are only added.
func DeclareGroups(change *plan.Change, have, want []string) {
	change.Follows = leavesGroup.Follows()
	if slices.ContainsFunc(have, func(id string) bool { return !slices.Contains(want, id) }) {
		leavesGroup.Declare(change)
	}
}

// declare sets what the removal of the rules disrupts.
func (d ruleDiff) declare(change *plan.Change) {
	change.Follows = closesAccess.Follows()
	if d.closes() {
		closesAccess.Declare(change)
	}
}
