package vpc

import (
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// The fields of changes that disrupt.
const (
	fieldIngress = "ingress"
	// FieldGroups are the security groups of a load balancer.
	FieldGroups = "securityGroups"
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

// Kept is what stays of the access to a load balancer while changes are held.
type Kept struct {
	// Rules are the texts of rules that are not removed, by the name of their group in plans.
	Rules map[string][]string
	// Groups are the IDs of security groups that the load balancer does not leave.
	Groups []string
}

// With returns what stays with one more difference, and whether it is one of security groups.
func (k Kept) With(d plan.Difference) (Kept, bool) {
	if rule, ok := strings.CutPrefix(d.Field, fieldIngress+" "); ok && d.Kind == KindRules {
		rules := maps.Clone(k.Rules)
		if rules == nil {
			rules = map[string][]string{}
		}
		rules[d.Object] = append(slices.Clone(rules[d.Object]), rule)
		k.Rules = rules
		return k, true
	}
	if id, ok := strings.CutPrefix(d.Field, FieldGroups+" "); ok {
		k.Groups = append(slices.Clone(k.Groups), id)
		return k, true
	}
	return k, false
}

// filterKept returns the rules of a group that do not stay.
func (k Kept) filterKept(group string, rules []Rule) []Rule {
	return slices.DeleteFunc(rules, func(r Rule) bool { return slices.Contains(k.Rules[group], r.String()) })
}
