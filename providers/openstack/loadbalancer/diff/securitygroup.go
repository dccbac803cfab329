package diff

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// diffGroup plans the managed security group, its rules, and its ports. If groups are no longer managed,
// filterExisting ones are deleted.
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
		if !d.hasGroup(port.ID, group.ID) {
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

// hasGroup reports whether a port had the group when it was last read.
func (d *differ) hasGroup(port, group string) bool {
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
			created, err := d.write.CreateGroup(ctx, groups.CreateOpts{Name: want.Name, Description: want.Description})
			if err != nil {
				return err
			}
			ids.Set(groupHandle, created.ID)
			return d.write.AddRules(ctx, created, want.Rules)
		},
	}
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
	surplus := sorting.SortedFunc(maps.Values(have),
		func(a, b api.SecurityGroupRule) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range surplus {
		f.Diff("rule", model.ShowRule(model.RuleOf(r)), "")
	}
	if len(f) == 0 {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref: d.ref(kindRules, group.Name, plan.Update, group.ID), Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if err := d.write.AddRules(ctx, group, missing); err != nil {
				return err
			}
			for _, r := range surplus {
				if err := d.write.DeleteRule(ctx, group.ID, r.ID); err != nil {
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
				return d.write.DeleteGroup(ctx, group.ID)
			},
		})
	}
}

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
			return d.write.ChangeGroups(ctx, port, func(groups []string) []string {
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
			return d.write.ChangeGroups(ctx, port, func(have []string) []string {
				return slices.DeleteFunc(slices.Clone(have), func(g string) bool { return slices.Contains(groups, g) })
			})
		},
	}
}
