package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
)

// diffGroup plans the managed security group, its rules, and its ports. If groups are no longer managed, an existing
// one stays as it is until its Service is deleted: nodes may receive traffic only because of it.
func (d *differ) diffGroup() {
	want := d.want.Group
	if want == nil {
		return
	}
	rules, unknown := want.RulesFrom(d.memberSubnets())
	if len(unknown) > 0 {
		d.warnf("the subnets %s cannot be read, so that the node ports are not opened for them: members are reached from "+
			"there; correct member-subnet-id, or let this manager read them", strings.Join(unknown, ", "))
	}
	if len(d.have.Groups) == 0 {
		creation := d.groupCreate(*want, rules)
		d.add(creation)
		for _, port := range want.Ports {
			d.add(d.portAttach(port, reference{Name: want.Name, Handle: groupHandle}, []plan.Ref{creation.Ref}))
		}
		return
	}
	group := d.have.Groups[0]
	d.diffRules(group, rules, len(unknown) > 0)
	for _, port := range want.Ports {
		if !d.hasGroup(port.ID, group.ID) {
			d.add(d.portAttach(port, reference{ID: group.ID, Name: group.Name}, nil))
		}
	}
	for _, port := range d.have.GroupPorts {
		if !d.receivesTraffic(port) && slices.Contains(port.SecurityGroups, group.ID) {
			d.add(d.portDetach(port, []string{group.ID}, "its node receives no traffic any more"))
		}
	}
}

// memberSubnets returns the subnets from which the Service's members are reached after the plan: existing members keep
// theirs, whatever subnet the configuration names by now.
func (d *differ) memberSubnets() []string {
	var subnets []string
	for _, port := range d.want.Ports {
		l, _ := d.listenerOf(port)
		list := port.Members
		if pool, ok := d.poolOf(l.DefaultPoolID); ok && d.isReusable(pool, port) {
			list = members.KeepSubnets(pool.Members, port.Members)
		}
		subnets = append(subnets, members.Subnets(list)...)
	}
	return subnets
}

// receivesTraffic reports whether a port is of a node that receives traffic. The group stays at all ports of such a
// node: another manager, or an earlier configuration, chose another one of them.
func (d *differ) receivesTraffic(port api.Port) bool {
	if slices.Contains(d.want.Group.Servers, port.DeviceID) ||
		slices.ContainsFunc(d.want.Group.Ports, func(p api.Port) bool { return p.ID == port.ID }) {
		return true
	}
	// Members of nodes without a provider ID of this cloud have only an address.
	return slices.ContainsFunc(d.want.Ports, func(p model.Port) bool {
		return slices.ContainsFunc(p.Members, func(m api.Member) bool {
			found, _ := model.PortWithAddress([]api.Port{port}, m.Address)
			return found.ID != ""
		})
	})
}

// hasGroup reports whether a port had the group when it was last read.
func (d *differ) hasGroup(port, group string) bool {
	return slices.ContainsFunc(d.have.GroupPorts,
		func(p api.Port) bool { return p.ID == port && slices.Contains(p.SecurityGroups, group) })
}

// groupCreate creates the group with its rules. Neutron's own egress rules stay.
func (d *differ) groupCreate(want model.Group, list []rules.CreateOpts) plan.Change {
	var f plan.Fields
	for _, r := range list {
		f.Diff("rule", "", model.ShowRule(r))
	}
	return plan.Change{
		Ref: d.ref(kindGroup, want.Name, plan.Create, ""), Fields: f,
		Step: steps.GroupCreation{
			Spec: groups.CreateOpts{Name: want.Name, Description: want.Description}, Rules: list, Handle: groupHandle,
		},
	}
}

// diffRules plans the rules of a group: missing ones are added first, and surplus ones are removed last, so that never
// less is open than needed. keep keeps surplus rules, because not all that are
// needed are known.
func (d *differ) diffRules(group api.SecurityGroup, want []rules.CreateOpts, keep bool) {
	surplus := map[string]api.SecurityGroupRule{}
	for _, r := range group.Rules {
		if r.Direction == string(rules.DirIngress) {
			surplus[model.ShowRule(model.RuleOf(r))] = r
		}
	}
	var added plan.Fields
	var missing []rules.CreateOpts
	for _, r := range want {
		if _, ok := surplus[model.ShowRule(r)]; !ok {
			missing = append(missing, r)
			added.Diff("rule", "", model.ShowRule(r))
		}
		delete(surplus, model.ShowRule(r))
	}
	if len(missing) > 0 {
		d.add(plan.Change{
			Ref: d.ref(kindRules, group.Name, plan.Update, group.ID), Fields: added,
			Step: steps.RulesAddition{Group: group, Rules: missing},
		})
	}
	maps.DeleteFunc(surplus, func(text string, _ api.SecurityGroupRule) bool {
		return d.keeps(kindRules, group.Name, kinds.FieldRule+" "+text)
	})
	if len(surplus) > 0 && !keep {
		d.last = append(d.last, d.rulesDelete(group, sorting.SortedFunc(maps.Values(surplus),
			func(a, b api.SecurityGroupRule) int { return cmp.Compare(a.ID, b.ID) })))
	}
}

// rulesDelete removes rules of a group.
func (d *differ) rulesDelete(group api.SecurityGroup, surplus []api.SecurityGroupRule) plan.Change {
	var f plan.Fields
	for _, r := range surplus {
		text := model.ShowRule(model.RuleOf(r))
		f = append(f, plan.Field{Name: kinds.FieldRule, Before: text, Removed: []string{text}})
	}
	change := plan.Change{
		Ref: d.ref(kindRules, group.Name, plan.Delete, group.ID), Fields: f, Key: group.Name,
		Step: steps.RulesRemoval{Group: group.ID, Rules: surplus},
	}
	kinds.ClosesNodePort.Declare(&change)
	return change
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
			Step: steps.GroupDeletion(group.ID),
		})
	}
}

// portAttach adds the Service's group to a port of a node. It is a change of membership.
func (d *differ) portAttach(port api.Port, group reference, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:        d.ref(kindPort, port.ID, plan.Update, ""),
		Fields:     []plan.Field{{Name: "security_groups", After: group.Name}},
		After:      after,
		Membership: true,
		Step:       steps.PortAttachment{Port: port, Group: group},
	}
}

// portDetach removes groups from a port, and the tags with their IDs, which earlier releases of another manager set.
func (d *differ) portDetach(port api.Port, groups []string, reason string) plan.Change {
	return plan.Change{
		Ref:        d.ref(kindPort, port.ID, plan.Update, "detach"),
		Fields:     []plan.Field{{Name: "security_groups", Before: plan.ShowSet(groups)}},
		Reason:     reason,
		Membership: true,
		Step:       steps.PortDetachment{Port: port, Groups: groups},
	}
}
