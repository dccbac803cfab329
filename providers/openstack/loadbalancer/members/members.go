// Package members compares and formats the members of Octavia's pools.
package members

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// Identity has the fields that identify a member in Octavia: a batch with both keeps the member.
type Identity struct {
	address string
	port    int
}

// maxShown is the maximum number of members that a plan lists one by one.
const maxShown = 10

// IdentityOf returns the identity of a member.
func IdentityOf(m api.Member) Identity { return Identity{m.Address, m.Port} }

// Same reports whether a member is as desired. The subnet of an existing one is immutable, and a member
// without a subnet in Octavia matches any.
func Same(have api.Member, want api.Member) bool {
	return have.Name == want.Name && model.SameIP(have.Address, want.Address) && have.Port == want.Port &&
		have.MonitorPort == want.MonitorPort
}

// ChangesSubnet reports whether a member that stays has to be reached from another subnet.
func ChangesSubnet(have []api.Member, want []api.Member) bool {
	subnets := map[Identity]string{}
	for _, m := range have {
		subnets[IdentityOf(m)] = m.SubnetID
	}
	return slices.ContainsFunc(want, func(s api.Member) bool {
		before := subnets[IdentityOf(s)]
		return before != "" && s.SubnetID != "" && before != s.SubnetID
	})
}

// KeepSubnets returns the wanted members with the subnets of those that exist, which cannot change.
func KeepSubnets(have, want []api.Member) []api.Member {
	want = slices.Clone(want)
	if aligned(have, want) {
		for i := range want {
			want[i].SubnetID = cmp.Or(have[i].SubnetID, want[i].SubnetID)
		}
		return want
	}
	subnets := make(map[Identity]string, len(have))
	for _, m := range have {
		subnets[IdentityOf(m)] = m.SubnetID
	}
	for i := range want {
		want[i].SubnetID = cmp.Or(subnets[IdentityOf(want[i])], want[i].SubnetID)
	}
	return want
}

// Equal compares members as sets.
func Equal(have []api.Member, want []api.Member) bool {
	if len(have) != len(want) {
		return false
	}
	if aligned(have, want) {
		return slices.EqualFunc(have, want, Same)
	}
	byIdentity := make(map[Identity]api.Member, len(have))
	for _, m := range have {
		byIdentity[IdentityOf(m)] = m
	}
	return !slices.ContainsFunc(want, func(s api.Member) bool {
		m, ok := byIdentity[IdentityOf(s)]
		return !ok || !Same(m, s)
	})
}

// aligned reports whether two lists have the same members in the same order, as lists of our own writes do. Each sync
// compares all members of a load balancer, and a map of thousands is most of its time.
func aligned(have, want []api.Member) bool {
	return slices.EqualFunc(have, want, func(a, b api.Member) bool { return IdentityOf(a) == IdentityOf(b) })
}

// Show lists members, or counts them if there are many.
func Show(members []api.Member) string {
	if len(members) > maxShown {
		return fmt.Sprintf("%d members", len(members))
	}
	sorted := sorting.SortedFunc(slices.Values(members), func(a, b api.Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	shown := make([]string, 0, len(sorted))
	for _, m := range sorted {
		text := fmt.Sprintf("%s %s:%d", m.Name, m.Address, m.Port)
		if m.MonitorPort != 0 {
			text += fmt.Sprintf(" (probed at %d)", m.MonitorPort)
		}
		shown = append(shown, text)
	}
	return strings.Join(shown, ", ")
}

// ShowChange formats two sets of members: completely if they are small, else by their counts and the members that
// leave and join.
func ShowChange(before, after []api.Member) (string, string) {
	if len(before) <= maxShown && len(after) <= maxShown {
		return Show(before), Show(after)
	}
	return fmt.Sprintf("%d members%s", len(before), suffix("; leaving: ", without(before, after))),
		fmt.Sprintf("%d members%s", len(after), suffix("; joining: ", without(after, before)))
}

func without(members, others []api.Member) []api.Member {
	there := make(map[Identity]bool, len(others))
	for _, m := range others {
		there[IdentityOf(m)] = true
	}
	return slices.DeleteFunc(slices.Clone(members), func(m api.Member) bool { return there[IdentityOf(m)] })
}

func suffix(label string, members []api.Member) string {
	if len(members) == 0 {
		return ""
	}
	return label + Show(members)
}
