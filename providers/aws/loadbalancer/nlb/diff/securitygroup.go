package diff

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// diffSecurityGroups plans the load balancer's security groups and the rules on nodes. It returns the desired
// groups of the load balancer, nil to keep the existing ones, and the changes that create one of them.
func (d *differ) diffSecurityGroups() (groups []vpc.GroupRef, created []plan.Ref, err error) {
	b := d.have.Balancer
	if b == nil && !d.want.Secured || b != nil && len(b.SecurityGroups) == 0 {
		if d.want.Secured && len(d.want.SecurityGroups) > 0 {
			d.warnf("load balancer %s was created without security groups, and AWS cannot add any: to use the listed "+
				"ones, delete the Service and create it again", b.Name)
		}
		d.nodeRules(nil)
		return nil, nil, nil
	}
	if b != nil && !d.want.Secured {
		return nil, nil, d.updateKeptGroups(*b)
	}
	for _, id := range d.want.SecurityGroups {
		groups = append(groups, vpc.GroupRef{ID: id, Name: id})
	}
	if len(groups) == 0 {
		var managed vpc.GroupRef
		if managed, created, err = d.ensureManagedGroup(); err != nil {
			return nil, nil, err
		}
		groups = []vpc.GroupRef{managed}
	}
	d.nodeRulesAfter(&groups[0], created)
	for _, id := range d.keptGroups() {
		groups = append(groups, vpc.GroupRef{ID: id, Name: id})
	}
	return groups, created, nil
}

// ensureManagedGroup plans the managed group, and returns it with the changes that create it.
func (d *differ) ensureManagedGroup() (ref vpc.GroupRef, created []plan.Ref, err error) {
	changes, ref, err := vpc.ManagedGroupChanges(d.have.Groups, d.want.Managed, nil)
	if err != nil {
		return ref, nil, err
	}
	d.add(changes...)
	for _, change := range changes {
		if change.Kind == vpc.KindGroup && change.Action == plan.Create {
			created = append(created, change.Ref)
		}
		if change.Kind == vpc.KindRules && change.Action == plan.Create {
			d.allowed = append(d.allowed, change.Ref)
		}
	}
	return ref, created, nil
}

// keptGroups returns the security groups that the load balancer does not leave.
func (d *differ) keptGroups() []string {
	if d.have.Balancer == nil {
		return nil
	}
	return vpc.KeptGroups(kindGroups, d.have.Balancer.SecurityGroups, d.want.Kept)
}

// updateKeptGroups plans the rules of a managed group after NLBSecurityGroupMode was disabled: the load balancer keeps
// its groups.
func (d *differ) updateKeptGroups(b model.Balancer) error {
	if group, ok := d.have.Groups.Named(d.want.Managed.Name); ok && slices.Contains(b.SecurityGroups, group.ID) {
		changes, _, err := vpc.ManagedGroupChanges(d.have.Groups, d.want.Managed, nil)
		if err != nil {
			return err
		}
		d.add(changes...)
	}
	d.nodeRules(&vpc.GroupRef{ID: b.SecurityGroups[0], Name: b.SecurityGroups[0]})
	return nil
}

func (d *differ) nodeRules(from *vpc.GroupRef) { d.nodeRulesAfter(from, nil) }

// NodeRules returns the rules on the security groups of nodes that the existing load balancer of a Service needs:
// none if it belongs to another owner.
func NodeRules(o Options, want *model.Desired, have model.Observed) vpc.NodeRules {
	d := newDiffer(o, have)
	none := vpc.NodeRules{LoadBalancer: model.DefaultName(d.Key)}
	b := have.Balancer
	if b == nil || want == nil || want.NoNodeRules || have.ForeignOwner(o.Cluster.ID, d.Key) != "" {
		return none
	}
	d.want = *want
	if d.reconcileZones() != nil {
		return none // Diff refuses the load balancer
	}
	switch {
	case len(b.SecurityGroups) == 0:
		return d.desiredNodeRules(nil)
	case !want.Secured:
		return d.desiredNodeRules(&vpc.GroupRef{ID: b.SecurityGroups[0]})
	case len(want.SecurityGroups) > 0:
		return d.desiredNodeRules(&vpc.GroupRef{ID: want.SecurityGroups[0]})
	default:
		managed, _ := have.Groups.Named(want.Managed.Name)
		return d.desiredNodeRules(&vpc.GroupRef{ID: managed.ID})
	}
}

// desiredNodeRules returns the desired rules on the security groups of nodes. A load balancer with a security group
// needs one rule, whatever ports it has; but if an earlier manager's rules by address allow all its traffic, they
// stay, and it needs them.
func (d *differ) desiredNodeRules(from *vpc.GroupRef) vpc.NodeRules {
	byCIDR := vpc.NodeRules{LoadBalancer: model.DefaultName(d.Key), Groups: d.want.NodeGroups.IDs,
		Keep: d.want.NodeGroups.Unclear, Kept: d.want.ByCIDR.Kept,
		Rules: d.want.ByCIDR.Rules()}
	adopted := d.have.Balancer != nil && from != nil && from.ID != "" && byCIDR.Satisfied(d.have.Groups)
	if from == nil || adopted {
		return byCIDR
	}
	rules := vpc.NodeRules{LoadBalancer: byCIDR.LoadBalancer, Groups: byCIDR.Groups, Keep: byCIDR.Keep,
		Kept: byCIDR.Kept, From: from, FromDescription: names.NetworkGroupRule}
	if b := d.have.Balancer; b != nil {
		used := append(d.keptGroups(), from.ID)
		rules.NotFrom = difference(d.exclusiveGroups(b.SecurityGroups, d.managedGroups()), used)
	}
	return rules
}

// nodeRulesAfter plans the rules on the security groups of nodes.
func (d *differ) nodeRulesAfter(from *vpc.GroupRef, after []plan.Ref) {
	if d.want.NoNodeRules {
		return
	}
	for _, change := range vpc.NodeRuleChanges(d.have.Groups, d.desiredNodeRules(from), after) {
		if change.Action == plan.Delete {
			d.closing = append(d.closing, len(d.changes))
		} else {
			d.opened = append(d.opened, change.Ref)
		}
		d.add(change)
	}
}

// removeRules plans the removal of rules on nodes and of the managed security group.
func (d *differ) removeRules(attached []string, after []plan.Ref) {
	managed := d.managedGroups()
	if !d.NoNodeRules {
		rules := vpc.NodeRules{LoadBalancer: model.DefaultName(d.Key),
			NotFrom: d.exclusiveGroups(attached, managed)}
		d.add(vpc.NodeRuleChanges(d.have.Groups, rules, nil)...)
	}
	for _, group := range managed {
		d.managedGroupDelete(group, after)
	}
}

// managedGroupDelete plans the deletion of a security group that was created for the Service's load balancer. It warns
// about one that another load balancer uses, such as that of another owner with the Service's name.
func (d *differ) managedGroupDelete(group vpc.Group, after []plan.Ref) {
	have := d.have.Groups
	if b := d.have.Balancer; b != nil && d.have.ForeignOwner(d.Cluster.ID, d.Key) != "" &&
		slices.Contains(b.SecurityGroups, group.ID) {
		have = have.WithUsed(map[string]bool{group.ID: true})
	}
	changes, warning := vpc.GroupDeleteChanges(have, group, after)
	if warning != "" {
		d.warnf("%s", warning)
	}
	d.add(changes...)
}

// managedGroups returns the security groups that were created for the Service's load balancer.
func (d *differ) managedGroups() []vpc.Group {
	name := names.ManagedGroupName(d.Key.ClusterName, tags.Service(d.Key), d.Key.UID)
	var out []vpc.Group
	for _, g := range d.have.Groups.All() {
		tagged := strings.HasPrefix(g.Name, "k8s-") && !strings.HasPrefix(g.Name, names.ClassicGroupName("")) &&
			tags.IsFor(g.Tags, d.Cluster.ID, d.Key)
		if (g.Name == name || tagged) && d.have.Groups.Owned(g.ID) &&
			tags.ForeignOwner(g.Tags, d.Cluster.ID, d.Key) == "" {
			out = append(out, g)
		}
	}
	return out
}

// exclusiveGroups returns the security groups of a load balancer that no other load balancer has. Rules of
// this manager that refer to them are removed with it. It omits managed groups: their deletion includes such rules.
func (d *differ) exclusiveGroups(attached []string, managed []vpc.Group) []string {
	return slices.DeleteFunc(slices.Clone(attached), func(id string) bool {
		return d.have.Groups.InUse(id) || slices.ContainsFunc(managed,
			func(g vpc.Group) bool { return g.ID == id })
	})
}
