// Package members compares and formats the members of Octavia's pools.
package members

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// Identity has the fields that identify a member in Octavia: a batch with both keeps the member.
type Identity struct {
	address string
	port    int
}

// IdentityOf returns the identity of a member.
func IdentityOf(m api.Member) Identity { return Identity{m.Address, m.Port} }

// Same reports whether a member is as desired. The subnet of an existing one is immutable, and a member
// without a subnet in Octavia matches any.
func Same(have, want api.Member) bool {
	return have.Name == want.Name && model.SameIP(have.Address, want.Address) && have.Port == want.Port &&
		have.MonitorPort == want.MonitorPort
}

// ChangesSubnet reports whether a member that stays has to be reached from another subnet.
func ChangesSubnet(have, want []api.Member) bool {
	subnets := map[Identity]string{}
	for _, m := range have {
		subnets[IdentityOf(m)] = m.SubnetID
	}
	return slices.ContainsFunc(want, func(s api.Member) bool {
		current := subnets[IdentityOf(s)]
		return current != "" && s.SubnetID != "" && current != s.SubnetID
	})
}

// Subnets returns the subnets from which members are reached.
func Subnets(list []api.Member) []string {
	var subnets []string
	for _, m := range list {
		if m.SubnetID != "" && !slices.Contains(subnets, m.SubnetID) {
			subnets = append(subnets, m.SubnetID)
		}
	}
	return subnets
}

// KeepSubnets returns the wanted members, with the subnets of existing ones: these cannot change.
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

// KeepNames returns the wanted members, with the names of existing ones. Drivers without batches change a member by
// deleting it and creating it again, which ends its connections: a name is no reason for that.
func KeepNames(have, want []api.Member) []api.Member {
	existing := make(map[Identity]string, len(have))
	for _, m := range have {
		existing[IdentityOf(m)] = m.Name
	}
	want = slices.Clone(want)
	for i := range want {
		want[i].Name = cmp.Or(existing[IdentityOf(want[i])], want[i].Name)
	}
	return want
}

// Equal compares members as sets.
func Equal(have, want []api.Member) bool {
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
// compares all members of a load balancer, and a map of thousands would take most of its time.
func aligned(have, want []api.Member) bool {
	return slices.EqualFunc(have, want, func(a, b api.Member) bool { return IdentityOf(a) == IdentityOf(b) })
}

// Format returns the text of each member in plans.
func Format(members []api.Member) []string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = fmt.Sprintf("%s %s:%d", m.Name, m.Address, m.Port)
		if m.MonitorPort != 0 {
			texts[i] += fmt.Sprintf(" (probed at %d)", m.MonitorPort)
		}
	}
	return texts
}
