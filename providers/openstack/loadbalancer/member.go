package loadbalancer

import (
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// kindMembers is the kind in plans. Members are a separate kind, because only they change when nodes join and
// leave.
const kindMembers = "members"

// membersUpdate returns the change that replaces a pool's members with one call, if they differ.
func (d *differ) membersUpdate(have observe.Pool, port model.Port) (plan.Change, bool) {
	want := members.KeepSubnets(have.Members, port.Members)
	if have.Checksum != "" && have.Checksum == observe.MemberChecksum(want) || have.Checksum == "" &&
		members.Equal(have.Members, want) {
		return plan.Change{}, false
	}
	before, after := members.ShowChange(have.Members, want)
	if have.Checksum != "" {
		before = "others"
	}
	return plan.Change{
		Ref: d.membersRef(have), ID: have.ID,
		Fields:     []plan.Field{{Name: "members", Before: before, After: after}},
		Membership: true, Disrupts: plan.DisruptsMembers,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			return d.setMembers(ctx, ids, have.ID, have.Members, want)
		},
	}, true
}

// membersRef returns the reference of the change of a pool's members, which Diff and DiffMembers share. A pool that
// is held for deletion can have the name of its successor: then the references of both have the pools' IDs.
func (d *differ) membersRef(have observe.Pool) plan.Ref {
	name := have.Name
	if slices.ContainsFunc(d.have.Pools, func(p observe.Pool) bool { return p.ID != have.ID && p.Name == have.Name }) {
		name = strings.TrimSpace(have.Name + " " + have.ID)
	}
	return d.ref(kindMembers, name, plan.Update, have.ID)
}

// membersCreate fills a pool that the plan creates.
func (d *differ) membersCreate(port model.Port, pool poolRef, after plan.Ref) plan.Change {
	want := port.Members
	return plan.Change{
		Ref:    d.ref(kindMembers, port.Pool.Name, plan.Create, ""),
		Fields: []plan.Field{{Name: "members", After: members.Show(want)}},
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
		if slices.ContainsFunc(want, func(s api.Member) bool { return members.Same(m, s) }) {
			continue
		}
		leaves := members.IdentityOf(m)
		current = slices.DeleteFunc(current, func(c api.Member) bool { return members.IdentityOf(c) == leaves })
		err := d.mutate(ctx, ids, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(d.cloud.api.DeleteMember(ctx, pool, m.ID))
		}, func() { d.cloud.store.Members.Put(pool, slices.Clone(current)) })
		if err != nil {
			return err
		}
	}
	for _, spec := range want {
		if slices.ContainsFunc(current, func(m api.Member) bool { return members.Same(m, spec) }) {
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
