package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// kindMembers is the kind in plans. Members are a separate kind, because only they change when nodes join and
// leave.
const kindMembers = "members"

// membersShown is the maximum number of members that a plan lists one by one.
const membersShown = 10

// identity has the fields that identify a member in Octavia: a batch with both keeps the member.
type identity struct {
	address string
	port    int
}

// membersUpdate returns the change that replaces a pool's members with one call, if they differ.
func (d *differ) membersUpdate(have observe.Pool, port model.Port) (plan.Change, bool) {
	want := keepSubnets(have.Members, port.Members)
	if have.Checksum != "" && have.Checksum == observe.MemberChecksum(want) || have.Checksum == "" &&
		sameMembers(have.Members, want) {
		return plan.Change{}, false
	}
	before, after := showMembersChange(have.Members, want)
	if have.Checksum != "" {
		before = "others"
	}
	return plan.Change{
		Ref:        d.ref(kindMembers, have.Name, plan.Update, have.ID),
		Fields:     []plan.Field{{Name: "members", Before: before, After: after}},
		Membership: true, Disrupts: plan.DisruptsMembers,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			return d.setMembers(ctx, ids, have.ID, have.Members, want)
		},
	}, true
}

// membersCreate fills a pool that the plan creates.
func (d *differ) membersCreate(port model.Port, pool poolRef, after plan.Ref) plan.Change {
	want := port.Members
	return plan.Change{
		Ref:    d.ref(kindMembers, port.Pool.Name, plan.Create, ""),
		Fields: []plan.Field{{Name: "members", After: showMembers(want)}},
		After:  []plan.Ref{after},
		// An update of only the members cannot make it, and fails instead of ignoring it.
		Membership: true,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := pool.resolve(ids)
			if err != nil {
				return err
			}
			return d.setMembers(ctx, ids, id, nil, want)
		},
	}
}

func (d *differ) setMembers(ctx context.Context, ids *plan.Handles, pool string, have []api.Member,
	want []api.Member) error {
	if d.want.Serial {
		return d.setMembersSerially(ctx, ids, pool, have, want)
	}
	return d.mutate(ctx, ids, func(ctx context.Context) error {
		return d.cloud.api.SetMembers(ctx, pool, want)
	}, func() { d.cloud.store.SetMembers(pool, want) })
}

// setMembersSerially makes one call for each member that leaves, joins or changes: some drivers support no
// batches.
func (d *differ) setMembersSerially(ctx context.Context, ids *plan.Handles, pool string, have []api.Member,
	want []api.Member) error {
	current := slices.Clone(have)
	for _, m := range have {
		if slices.ContainsFunc(want, func(s api.Member) bool { return sameMember(m, s) }) {
			continue
		}
		current = slices.DeleteFunc(current, func(c api.Member) bool { return identityOf(c) == identityOf(m) })
		err := d.mutate(ctx, ids, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(d.cloud.api.DeleteMember(ctx, pool, m.ID))
		}, func() { d.cloud.store.Members.Put(pool, slices.Clone(current)) })
		if err != nil {
			return err
		}
	}
	for _, spec := range want {
		if slices.ContainsFunc(current, func(m api.Member) bool { return sameMember(m, spec) }) {
			continue
		}
		var made api.Member
		err := d.mutate(ctx, ids, func(ctx context.Context) (err error) {
			made, err = d.cloud.api.CreateMember(ctx, pool, spec)
			return err
		}, func() {
			current = append(current, made)
			d.cloud.store.Members.Put(pool, slices.Clone(current))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func identityOf(m api.Member) identity { return identity{m.Address, m.Port} }

// sameMember reports whether a member is as desired. The subnet of an existing one is immutable, and a member
// without a subnet in Octavia matches any.
func sameMember(have api.Member, want api.Member) bool {
	return have.Name == want.Name && model.SameIP(have.Address, want.Address) && have.Port == want.Port &&
		have.MonitorPort == want.MonitorPort
}

// changesSubnet reports whether a member that stays has to be reached from another subnet.
func changesSubnet(have []api.Member, want []api.Member) bool {
	subnets := map[identity]string{}
	for _, m := range have {
		subnets[identityOf(m)] = m.SubnetID
	}
	return slices.ContainsFunc(want, func(s api.Member) bool {
		before := subnets[identity{s.Address, s.Port}]
		return before != "" && s.SubnetID != "" && before != s.SubnetID
	})
}

// keepSubnets returns the wanted members with the subnets of those that exist, which cannot change.
func keepSubnets(have, want []api.Member) []api.Member {
	subnets := map[identity]string{}
	for _, m := range have {
		subnets[identityOf(m)] = m.SubnetID
	}
	want = slices.Clone(want)
	for i := range want {
		want[i].SubnetID = cmp.Or(subnets[identityOf(want[i])], want[i].SubnetID)
	}
	return want
}

// sameMembers compares members as sets.
func sameMembers(have []api.Member, want []api.Member) bool {
	if len(have) != len(want) {
		return false
	}
	byIdentity := make(map[identity]api.Member, len(have))
	for _, m := range have {
		byIdentity[identityOf(m)] = m
	}
	return !slices.ContainsFunc(want, func(s api.Member) bool {
		m, ok := byIdentity[identity{s.Address, s.Port}]
		return !ok || !sameMember(m, s)
	})
}

// showMembers lists members, or counts them if there are many.
func showMembers(members []api.Member) string {
	if len(members) > membersShown {
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

// showMembersChange formats two sets of members: completely if they are small, else by the removed and added
// members.
func showMembersChange(before, after []api.Member) (string, string) {
	if len(before) <= membersShown && len(after) <= membersShown {
		return showMembers(before), showMembers(after)
	}
	return fmt.Sprintf("%d members%s", len(before), suffix("; leaving: ", without(before, after))),
		fmt.Sprintf("%d members%s", len(after), suffix("; joining: ", without(after, before)))
}

func without(members, others []api.Member) []api.Member {
	there := make(map[identity]bool, len(others))
	for _, m := range others {
		there[identity{m.Address, m.Port}] = true
	}
	return slices.DeleteFunc(slices.Clone(members), func(m api.Member) bool { return there[identity{m.Address, m.Port}] })
}

func suffix(label string, members []api.Member) string {
	if len(members) == 0 {
		return ""
	}
	return label + showMembers(members)
}
