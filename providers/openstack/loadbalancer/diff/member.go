package diff

import (
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
)

// membersUpdate returns the change that replaces a pool's members with one call, if they differ.
func (d *differ) membersUpdate(have observe.Pool, port model.Port) (plan.Change, bool) {
	want := members.KeepSubnets(have.Members, port.Members)
	if d.want.Serial {
		want = members.KeepNames(have.Members, want)
	}
	if have.Checksum != "" && have.Checksum == observe.MemberChecksum(want) || have.Checksum == "" &&
		members.Equal(have.Members, want) {
		return plan.Change{}, false
	}
	before, after := plan.ShowMembersChange(members.Format(have.Members), members.Format(want))
	if have.Checksum != "" {
		before, after = "others", plan.ShowMembers(members.Format(want))
	}
	return plan.Change{
		Ref: d.membersRef(have), ID: have.ID,
		Fields:     []plan.Field{{Name: "members", Before: before, After: after}},
		Membership: true, Disrupts: plan.DisruptsMembers,
		Step: membersUpdate{d.loadBalancer(), reference{ID: have.ID}, have.Members, want},
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
func (d *differ) membersCreate(port model.Port, pool reference, after plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindMembers, port.Pool.Name, plan.Create, ""),
		Fields: []plan.Field{{Name: "members", After: plan.ShowMembers(members.Format(port.Members))}},
		After:  []plan.Ref{after},
		// An update of only the members cannot create a pool: it fails instead of ignoring the change.
		Membership: true,
		Step:       membersUpdate{d.loadBalancer(), pool, nil, port.Members},
	}
}

// membersUpdate replaces the members of a pool.
type membersUpdate struct {
	lb, pool   reference
	have, want []api.Member
}

// Do implements plan.Step.
func (s membersUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	lb, pool, err := steps.ResolveBoth(ids, s.lb, s.pool)
	if err != nil {
		return err
	}
	return w.SetMembers(ctx, lb, pool, s.have, s.want)
}
