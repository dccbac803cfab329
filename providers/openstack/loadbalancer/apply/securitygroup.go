package apply

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// portTries is the number of attempts of a change of a port that another client changes at the same time.
const portTries = 8

// CreateGroup creates a security group. It has only Neutron's own rules.
func (w Writer) CreateGroup(ctx context.Context, spec groups.CreateOpts) (api.SecurityGroup, error) {
	made, err := w.API.CreateSecurityGroup(ctx, spec)
	return made, w.finish(err, func() { w.store.Groups.Put(made.ID, made) })
}

// AddRules creates all rules of a security group with one call.
func (w Writer) AddRules(ctx context.Context, group api.SecurityGroup, missing []rules.CreateOpts) error {
	if len(missing) == 0 {
		return nil
	}
	specs := slices.Clone(missing)
	for i := range specs {
		specs[i].SecGroupID = group.ID
	}
	made, err := w.API.CreateSecurityGroupRules(ctx, specs)
	return w.finish(err, func() {
		now, ok := w.store.Groups.Get(group.ID)
		if !ok {
			now = group
		}
		now.Rules = append(slices.Clone(now.Rules), made...)
		w.store.Groups.Put(group.ID, now)
	})
}

// DeleteRule deletes a rule of a security group.
func (w Writer) DeleteRule(ctx context.Context, group, id string) error {
	err := cloudapi.IgnoreNotFound(w.API.DeleteSecurityGroupRule(ctx, id))
	return w.finish(err, func() {
		w.store.Groups.Update(group, func(g *api.SecurityGroup) {
			g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(r api.SecurityGroupRule) bool { return r.ID == id })
		})
	})
}

// DeleteGroup deletes a security group that no port has.
func (w Writer) DeleteGroup(ctx context.Context, id string) error {
	err := cloudapi.IgnoreNotFound(w.API.DeleteSecurityGroup(ctx, id))
	return w.finish(err, func() { w.store.Groups.Delete(id) })
}

// ChangeGroups changes the security groups of a port on the condition that no other client has changed the port since
// it was read: groups are replaced as a whole, and groups of another manager would be lost. A deleted port needs no
// change.
func (w Writer) ChangeGroups(ctx context.Context, port api.Port, change func([]string) []string) error {
	done, err := w.locks.Lock(ctx, port.ID)
	if err != nil {
		return err
	}
	defer done()
	if known, ok := w.store.Ports.Get(port.ID); ok && known.Revision > port.Revision {
		port = known
	}
	for try := 1; ; try++ {
		groups := change(port.SecurityGroups)
		if slices.Equal(groups, port.SecurityGroups) {
			return w.finish(nil, func() { w.store.Ports.Put(port.ID, port) })
		}
		changed, err := w.API.UpdatePort(ctx, port.ID,
			api.PortUpdate{SecurityGroups: &groups, RevisionNumber: &port.Revision})
		switch {
		case err == nil:
			return w.finish(nil, func() { w.store.Ports.Put(changed.ID, changed) })
		case cloudapi.Is(err, cloudapi.NotFound):
			return w.finish(nil, func() { w.store.Ports.Delete(port.ID) })
		case !oserr.Changed(err) || try == portTries:
			return w.finish(err, nil)
		}
		if port, err = w.API.GetPort(ctx, port.ID); err != nil {
			return w.finish(cloudapi.IgnoreNotFound(err), nil)
		}
	}
}
