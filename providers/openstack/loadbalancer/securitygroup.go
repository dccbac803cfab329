package loadbalancer

import (
	"cmp"
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// The kinds in plans.
const (
	kindGroup = observe.KindGroup
	kindRules = "security group rules"
)

// groupHandle identifies the group in a plan before it exists.
const groupHandle = plan.Handle("security group")

// diffGroup plans the managed security group, its rules, and its ports. If groups are no longer managed,
// existing ones are deleted.
func (d *differ) diffGroup() {
	want := d.want.Group
	if want == nil {
		d.removeGroups()
		return
	}
	if len(d.have.Groups) == 0 {
		creation := d.groupCreate(*want)
		d.add(creation)
		for _, port := range want.Ports {
			d.add(d.portAttach(port, groupRef{name: want.Name}, []plan.Ref{creation.Ref}))
		}
		return
	}
	group := d.have.Groups[0]
	if change, ok := d.rulesUpdate(group, *want); ok {
		d.add(change)
	}
	for _, port := range want.Ports {
		if !d.carries(port.ID, group.ID) {
			d.add(d.portAttach(port, groupRef{id: group.ID, name: group.Name}, nil))
		}
	}
	for _, port := range d.have.GroupPorts {
		stays := slices.ContainsFunc(want.Ports, func(p api.Port) bool { return p.ID == port.ID })
		if !stays && slices.Contains(port.SecurityGroups, group.ID) {
			d.add(d.portDetach(port, []string{group.ID}, "its node receives no traffic any more"))
		}
	}
}

// carries reports whether a port had the group when it was last read.
func (d *differ) carries(port, group string) bool {
	return slices.ContainsFunc(d.have.GroupPorts,
		func(p api.Port) bool { return p.ID == port && slices.Contains(p.SecurityGroups, group) })
}

// groupCreate creates the group with its rules. Neutron's own egress rules stay.
func (d *differ) groupCreate(want model.Group) plan.Change {
	var f plan.Fields
	for _, r := range want.Rules {
		f.Diff("rule", "", model.ShowRule(r))
	}
	return plan.Change{
		Ref: d.ref(kindGroup, want.Name, plan.Create, ""), Fields: f,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			made, err := d.cloud.api.CreateSecurityGroup(ctx, groups.CreateOpts{Name: want.Name, Description: want.Description})
			if d.finish(err, func() { d.cloud.store.Groups.Put(made.ID, made) }) != nil {
				return err
			}
			ids.Set(groupHandle, made.ID)
			return d.addRules(ctx, made, want.Rules)
		},
	}
}

// addRules creates all rules with one call.
func (d *differ) addRules(ctx context.Context, group api.SecurityGroup, missing []rules.CreateOpts) error {
	if len(missing) == 0 {
		return nil
	}
	specs := slices.Clone(missing)
	for i := range specs {
		specs[i].SecGroupID = group.ID
	}
	made, err := d.cloud.api.CreateSecurityGroupRules(ctx, specs)
	return d.finish(err, func() {
		now, ok := d.cloud.store.Groups.Get(group.ID)
		if !ok {
			now = group
		}
		now.Rules = append(slices.Clone(now.Rules), made...)
		d.cloud.store.Groups.Put(group.ID, now)
	})
}

// rulesUpdate adds missing rules and then removes surplus ones: for a moment more is open than needed, and
// never less.
func (d *differ) rulesUpdate(group api.SecurityGroup, want model.Group) (plan.Change, bool) {
	have := map[string]api.SecurityGroupRule{}
	for _, r := range group.Rules {
		if r.Direction == string(rules.DirIngress) {
			have[model.ShowRule(model.RuleOf(r))] = r
		}
	}
	var f plan.Fields
	var missing []rules.CreateOpts
	for _, r := range want.Rules {
		if _, ok := have[model.ShowRule(r)]; !ok {
			missing = append(missing, r)
			f.Diff("rule", "", model.ShowRule(r))
		}
		delete(have, model.ShowRule(r))
	}
	surplus := make([]api.SecurityGroupRule, 0, len(have))
	for _, r := range have {
		surplus = append(surplus, r)
	}
	sorting.Func(surplus, func(a, b api.SecurityGroupRule) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range surplus {
		f.Diff("rule", model.ShowRule(model.RuleOf(r)), "")
	}
	if len(f) == 0 {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref: d.ref(kindRules, group.Name, plan.Update, group.ID), Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if err := d.addRules(ctx, group, missing); err != nil {
				return err
			}
			for _, r := range surplus {
				err := cloudapi.IgnoreNotFound(d.cloud.api.DeleteSecurityGroupRule(ctx, r.ID))
				if err := d.finish(err, func() {
					d.cloud.store.Groups.Update(group.ID, func(g *api.SecurityGroup) {
						g.Rules = slices.DeleteFunc(slices.Clone(g.Rules), func(one api.SecurityGroupRule) bool { return one.ID == r.ID })
					})
				}); err != nil {
					return err
				}
			}
			return nil
		},
	}, true
}

// removeGroups removes the Service's groups from all ports and deletes them: Neutron refuses to delete one
// that is in use.
func (d *differ) removeGroups() {
	for _, group := range d.have.Groups {
		var after []plan.Ref
		for _, port := range d.have.GroupPorts {
			if slices.Contains(port.SecurityGroups, group.ID) {
				change := d.portDetach(port, []string{group.ID}, "")
				d.add(change)
				after = append(after, change.Ref)
			}
		}
		d.add(plan.Change{
			Ref: d.ref(kindGroup, group.Name, plan.Delete, group.ID), ID: group.ID, After: after,
			Do: func(ctx context.Context, _ *plan.Handles) error {
				err := cloudapi.IgnoreNotFound(d.cloud.api.DeleteSecurityGroup(ctx, group.ID))
				return d.finish(err, func() { d.cloud.store.Groups.Delete(group.ID) })
			},
		})
	}
}
