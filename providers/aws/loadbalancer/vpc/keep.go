package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// KindRules is the kind of rules of security groups in plans.
const KindRules = "security group rules"

// Kept are the differences of rules that stay although they are not desired. The zero value keeps nothing.
type Kept []plan.Difference

// rules returns the rules of a group that stay.
func (k Kept) rules(group Group, rules []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !k.keeps(group, r) })
}

func (k Kept) keeps(group Group, r Rule) bool {
	return slices.ContainsFunc(k, func(d plan.Difference) bool {
		return d.Kind == KindRules && d.Object == group.key() && d.Field == fieldIngress+" "+r.String()
	})
}

// KeptGroups returns the security groups that a load balancer does not leave, by the kind of its change.
func KeptGroups(kind string, have []string, differences []plan.Difference) []string {
	return slices.DeleteFunc(slices.Clone(have), func(id string) bool {
		return !slices.ContainsFunc(differences, func(d plan.Difference) bool {
			return d.Kind == kind && d.Field == FieldGroups+" "+id
		})
	})
}
