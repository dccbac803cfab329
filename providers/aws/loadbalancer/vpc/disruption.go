package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// The fields of changes that disrupt. Each item that leaves is a difference of its own.
const (
	FieldGroups  = "securityGroups"
	fieldIngress = "ingress"
)

// closesAccess is a change by which a network loses access.
var closesAccess = plan.Effect{
	Change:   "a network is no longer allowed to reach a load balancer, or nodes that receive traffic",
	Disrupts: plan.DisruptsTraffic, Fields: []string{fieldIngress},
}

// leavesGroup is a change by which a load balancer leaves a security group.
var leavesGroup = plan.Effect{
	Change: "a load balancer leaves a security group", Disrupts: plan.DisruptsTraffic, Fields: []string{FieldGroups},
}

// Effects returns the disruptive changes of security groups.
func Effects() []plan.Effect { return []plan.Effect{closesAccess, leavesGroup} }

// DeclareGroups sets what a change of the load balancer's security groups disrupts: traffic if one is removed
// that allowed some, nothing if groups are only added.
func DeclareGroups(change *plan.Change, have, want []string) {
	leaving := slices.DeleteFunc(slices.Clone(have), func(id string) bool { return slices.Contains(want, id) })
	if len(leaving) == 0 {
		return
	}
	slices.Sort(leaving)
	for i := range change.Fields {
		if change.Fields[i].Name == FieldGroups {
			change.Fields[i].Removed = leaving
		}
	}
	leavesGroup.Declare(change)
}

// declareClosing sets what a change disrupts that removes rules: access by those that close some.
func declareClosing(change *plan.Change, closing []Rule) {
	if len(closing) == 0 {
		return
	}
	for i := range change.Fields {
		if change.Fields[i].Name == fieldIngress {
			change.Fields[i].Removed = ruleTexts(closing)
		}
	}
	closesAccess.Declare(change)
}
