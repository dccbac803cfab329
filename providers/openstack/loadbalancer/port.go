package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// kindPort is the kind in plans.
const kindPort = observe.KindPort

// portTries is the number of attempts of a change of a port that another client changes at the same time.
const portTries = 8

// groupRef is a security group: an existing one, with its ID, or one that the plan creates.
type groupRef struct{ id, name string }

// portAttach adds the Service's group to a port of a node. It is a change of membership.
func (d *differ) portAttach(port api.Port, group groupRef, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:        d.ref(kindPort, port.ID, plan.Update, ""),
		Fields:     []plan.Field{{Name: "security_groups", After: group.name}},
		After:      after,
		Membership: true,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id := group.id
			if id == "" {
				var err error
				if id, err = ids.ID(groupHandle); err != nil {
					return err
				}
			}
			return d.changeGroups(ctx, port, func(groups []string) []string {
				if slices.Contains(groups, id) {
					return groups
				}
				return append(slices.Clone(groups), id)
			})
		},
	}
}

// portDetach removes groups from a port.
func (d *differ) portDetach(port api.Port, groups []string, reason string) plan.Change {
	return plan.Change{
		Ref:        d.ref(kindPort, port.ID, plan.Update, "detach"),
		Fields:     []plan.Field{{Name: "security_groups", Before: plan.ShowSet(groups)}},
		Reason:     reason,
		Membership: true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.changeGroups(ctx, port, func(have []string) []string {
				return slices.DeleteFunc(slices.Clone(have), func(g string) bool { return slices.Contains(groups, g) })
			})
		},
	}
}

// changeGroups changes the groups of a port on the condition that no other client has changed the port since
// it was read: groups are replaced as a whole, and groups of another manager would be lost. A deleted port
// needs no change.
func (d *differ) changeGroups(ctx context.Context, port api.Port, change func([]string) []string) error {
	done, err := d.cloud.applier.Lock(ctx, port.ID)
	if err != nil {
		return err
	}
	defer done()
	if known, ok := d.cloud.store.Ports.Get(port.ID); ok && known.Revision > port.Revision {
		port = known
	}
	for try := 1; ; try++ {
		groups := change(port.SecurityGroups)
		if slices.Equal(groups, port.SecurityGroups) {
			return d.finish(nil, func() { d.cloud.store.Ports.Put(port.ID, port) })
		}
		changed, err := d.cloud.api.UpdatePort(ctx, port.ID,
			api.PortUpdate{SecurityGroups: &groups, RevisionNumber: &port.Revision})
		switch {
		case err == nil:
			return d.finish(nil, func() { d.cloud.store.Ports.Put(changed.ID, changed) })
		case cloudapi.Is(err, cloudapi.NotFound):
			return d.finish(nil, func() { d.cloud.store.Ports.Delete(port.ID) })
		case !oserr.Changed(err) || try == portTries:
			return d.finish(err, nil)
		}
		if port, err = d.cloud.api.GetPort(ctx, port.ID); err != nil {
			return d.finish(cloudapi.IgnoreNotFound(err), nil)
		}
	}
}
