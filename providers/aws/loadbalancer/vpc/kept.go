package vpc

import (
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// KindRules is the kind of rules of security groups in plans.
const KindRules = "security group rules"

// The fields of changes that disrupt.
const (
	fieldIngress = "ingress"
	// FieldGroups are the security groups of a load balancer.
	FieldGroups = "securityGroups"
)

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
