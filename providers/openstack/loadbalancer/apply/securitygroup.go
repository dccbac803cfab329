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

// maxPortAttempts limits the attempts of a change of a port that another client changes at the same time.
const maxPortAttempts = 8

// CreateGroup creates a security group. It has only Neutron's own rules.
func (w Writer) CreateGroup(ctx context.Context, spec groups.CreateOpts) (api.SecurityGroup, error) {
	created, err := w.API.CreateSecurityGroup(ctx, spec)
	return created, w.finish(err, func() { w.store.Groups.Put(created.ID, created) })
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
	created, err := w.API.CreateSecurityGroupRules(ctx, specs)
	return w.finish(err, func() {
		current, ok := w.store.Groups.Get(group.ID)
		if !ok {
			current = group
		}
		current.Rules = append(slices.Clone(current.Rules), created...)
		w.store.Groups.Put(group.ID, current)
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
	unlock, err := w.locks.Lock(ctx, port.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if cached, ok := w.store.Ports.Get(port.ID); ok && cached.Revision > port.Revision {
		port = cached
	}
	for attempt := 1; ; attempt++ {
		groups := change(port.SecurityGroups)
		if slices.Equal(groups, port.SecurityGroups) {
			return w.finish(nil, func() { w.store.Ports.Put(port.ID, port) })
		}
		updated, err := w.API.UpdatePort(ctx, port.ID,
			api.PortUpdate{SecurityGroups: &groups, RevisionNumber: &port.Revision})
		switch {
		case err == nil:
			return w.finish(nil, func() { w.store.Ports.Put(updated.ID, updated) })
		case cloudapi.Is(err, cloudapi.NotFound):
			return w.finish(nil, func() { w.store.Ports.Delete(port.ID) })
		case !oserr.IsRevisionConflict(err) || attempt == maxPortAttempts:
			return w.finish(err, nil)
		}
		if port, err = w.API.GetPort(ctx, port.ID); err != nil {
			return w.finish(cloudapi.IgnoreNotFound(err), nil)
		}
	}
}

// RemovePortTags removes tags of a port. They have no effect, so that a denial, as by access rules that allow only tags
// of floating IPs, is no error.
func (w Writer) RemovePortTags(ctx context.Context, port api.Port, tags []string) error {
	for _, tag := range tags {
		if !slices.Contains(port.Tags, tag) {
			continue
		}
		err := w.API.RemoveTag(ctx, api.Ports, port.ID, tag)
		if err != nil && !cloudapi.Is(err, cloudapi.NotFound, cloudapi.Denied) {
			return w.finish(err, nil)
		}
		w.store.Ports.Update(port.ID, func(p *api.Port) {
			p.Tags = slices.DeleteFunc(slices.Clone(p.Tags), func(t string) bool { return t == tag })
		})
	}
	return nil
}
