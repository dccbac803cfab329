package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// closesAccess is a change by which a network loses access.
var closesAccess = plan.Effect{
	Change:   "a network is no longer allowed to reach a load balancer, or nodes that receive traffic",
	Disrupts: plan.DisruptsTraffic, Fields: []string{fieldIngress},
}

// leavesGroup is a change by which a load balancer leaves a security group.
var leavesGroup = plan.Effect{
	Change:   "a load balancer leaves a security group",
	Disrupts: plan.DisruptsTraffic, Fields: []string{FieldGroups},
}

// Effects returns the disruptive changes of security groups.
func Effects() []plan.Effect { return []plan.Effect{closesAccess, leavesGroup} }

// DeclareGroups sets what a change of the load balancer's security groups disrupts: traffic if one is removed
// that allowed some, nothing if groups are only added.
func DeclareGroups(change *plan.Change, have, want []string) {
	removed := slices.DeleteFunc(slices.Clone(have), func(id string) bool { return slices.Contains(want, id) })
	for i, f := range change.Fields {
		if f.Name == FieldGroups && len(removed) > 0 {
			change.Fields[i].Removed = removed
			leavesGroup.Declare(change)
		}
	}
}

// declare sets what the removal of the rules disrupts.
func (d ruleDiff) declare(change *plan.Change) {
	closing := api.Convert(d.closing(), Rule.String)
	for i, f := range change.Fields {
		if f.Name == fieldIngress && len(closing) > 0 {
			change.Fields[i].Removed = closing
			closesAccess.Declare(change)
		}
	}
}
