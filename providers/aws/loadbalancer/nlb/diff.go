package nlb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Diff plans the changes from the existing to the desired objects: security groups first, then the load
// balancer, then target groups with their targets, then the listeners that forward to them. Deletions have
// the reverse order. A nil want means that nothing should exist; foreign objects are omitted then. The error
// refuses another cluster's load balancer.
func (c *Cloud) Diff(key lbcommon.Key, want *model.Desired, have model.Observed) (changes []plan.Change,
	warnings []string,
	err error) {
	d := &differ{cloud: c, key: key, have: have}
	if want == nil {
		d.remove()
		return d.changes, d.warnings, nil
	}
	d.want = *want
	d.warnings = slices.Clone(want.Warnings)
	if b := have.Balancer; b != nil {
		if owner := tags.Foreign(b.Tags, c.options.Cluster.ID, key); owner != "" {
			return nil, nil, refuseForeign(key, *b, owner)
		}
	}
	if err := d.reconcileZones(); err != nil {
		return nil, nil, err
	}
	warning, err := want.NodeGroups.Refuse(have.Balancer != nil)
	if err != nil {
		return nil, nil, err
	}
	if warning != "" {
		d.warnf("%s", warning)
	}
	if err := d.ensure(); err != nil {
		return nil, nil, err
	}
	return d.changes, d.warnings, nil
}

// differ builds one plan.
type differ struct {
	cloud    *Cloud
	key      lbcommon.Key
	want     model.Desired
	have     model.Observed
	changes  []plan.Change
	warnings []string
	// opened are the changes that allow the load balancer to reach nodes, closing are the indexes of those that
	// revoke it.
	opened  []plan.Ref
	closing []int
	// keptPorts are ports of the Service that get no listener. One that exists there stays.
	keptPorts []int32
	// creationTags are tags of a new load balancer in addition to those of all its objects.
	creationTags map[string]string
}

func (d *differ) add(changes ...plan.Change) { d.changes = append(d.changes, changes...) }

func (d *differ) warnf(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() error {
	attach, groups, err := d.securityGroups()
	if err != nil {
		return err
	}
	var base []plan.Ref // what new target groups and listeners wait for
	if d.have.Balancer == nil {
		creation := d.balancerCreate(attach, groups)
		d.add(creation)
		base = []plan.Ref{creation.Ref}
		d.attributesAfterCreate(base)
	} else {
		base = d.balancerUpdate(attach, groups)
	}
	d.adoptGroups()
	narrowsFirst := d.narrowsFirst()
	if narrowsFirst {
		base = append(base, d.narrow(base)...)
	}
	listeners := d.ports(base)
	for _, i := range d.closing {
		// Node ports close when no listener forwards to them any more, and no subnet probes them.
		d.changes[i].After = slices.Concat(d.changes[i].After, base, listeners)
	}
	if !narrowsFirst {
		d.narrow(listeners)
	}
	d.tags(listeners)
	d.createRecord()
	d.warnUnserved()
	return nil
}

// warnUnserved warns about nodes in zones where the load balancer will have no subnet.
func (d *differ) warnUnserved() {
	zones := d.want.Zones
	subnets := make([]string, len(zones))
	for i, z := range zones {
		subnets[i] = z.Subnet
	}
	if warning := vpc.UnservedZones(d.want.NodeZones, subnets, d.want.ZoneOf, annotation.KeySubnets); warning != "" {
		d.warnf("%s", warning)
	}
}

// remove plans the deletion of all objects of ours. Objects of another cluster are ignored: they must not
// block the deletion of the Service, and they are not changed.
func (d *differ) remove() {
	var after []plan.Ref
	var attached []string
	if b := d.have.Balancer; b != nil {
		if owner := tags.Foreign(b.Tags, d.cloud.options.Cluster.ID, d.key); owner != "" {
			d.warnf("load balancer %s belongs to %s and is left alone", b.Name, owner)
		} else {
			marked := d.markUnmarked()
			d.add(marked...)
			deletion := d.balancerDelete(*b)
			deletion.After = append(deletion.After, plan.Refs(marked)...)
			d.add(deletion)
			after, attached = []plan.Ref{deletion.Ref}, b.SecurityGroups
		}
	}
	for _, g := range d.have.TargetGroups {
		if d.keepGroup(g) {
			continue
		}
		d.add(d.groupDelete(g, after, ""))
	}
	d.removeRules(attached, after)
}

// unmarked reports whether a target group is the Service's although its tags name no owner, as older releases
// of cloud-provider-aws left them: it has a name of the Service, and only the load balancer uses it.
func (d *differ) unmarked(g model.TargetGroup) bool {
	b := d.have.Balancer
	return b != nil && g.Tags != nil && !tags.Marked(g.Tags) && slices.Equal(g.Balancers, []string{b.ARN}) &&
		names.IsTargetGroupOf(g.Name, tags.Service(d.key))
}

// markUnmarked plans the tags of unmarked target groups: without them, they could not be found once the load balancer
// is deleted.
func (d *differ) markUnmarked() []plan.Change {
	d.want.Tags = tags.Wanted(d.cloud.options.Cluster.ID, d.cloud.options.Cluster.Legacy, d.key, nil)
	var groups []tagged
	for _, g := range d.have.TargetGroups {
		if d.unmarked(g) {
			groups = append(groups, tagged{g.ARN, g.Name, g.Tags})
		}
	}
	return d.tagChanges("parts of load balancer "+d.name(), groups, nil)
}

// keepGroup reports whether a target group stays when the Service is deleted: a foreign load balancer uses
// it, or its tags do not name this Service's cluster.
func (d *differ) keepGroup(g model.TargetGroup) bool {
	foreign := g.Tags != nil && tags.Foreign(g.Tags, d.cloud.options.Cluster.ID, d.key) != ""
	if len(g.Balancers) > 1 || foreign && !d.unmarked(g) {
		return true
	}
	if len(g.Balancers) == 0 {
		return false
	}
	b := d.have.Balancer
	return b == nil || tags.Foreign(b.Tags, d.cloud.options.Cluster.ID, d.key) != "" || g.Balancers[0] != b.ARN
}

// securityGroups plans the load balancer's security groups and the rules on nodes. It returns the desired
// groups of the load balancer, nil to keep the existing ones, and the changes that this waits for.
func (d *differ) securityGroups() (attach []vpc.GroupRef, after []plan.Ref, err error) {
	b := d.have.Balancer
	if b == nil && !d.want.Secured || b != nil && len(b.SecurityGroups) == 0 {
		if d.want.Secured && len(d.want.SecurityGroups) > 0 {
			d.warnf("load balancer %s was made without security groups, and AWS gives none to it later: to use the listed "+
				"ones, delete the Service and create it again", b.Name)
		}
		d.nodeRules(nil)
		return nil, nil, nil
	}
	if b != nil && !d.want.Secured {
		return nil, nil, d.keptGroups(*b)
	}
	for _, id := range d.want.SecurityGroups {
		attach = append(attach, vpc.GroupRef{ID: id, Name: id})
	}
	if len(attach) == 0 {
		changes, ref, err := d.cloud.options.Groups.ManagedGroupChanges(d.have.Groups, d.want.Managed, nil)
		if err != nil {
			return nil, nil, err
		}
		d.add(changes...)
		for _, change := range changes {
			if change.Kind == vpc.KindGroup && change.Action == plan.Create {
				after = append(after, change.Ref)
			}
		}
		attach = []vpc.GroupRef{ref}
	}
	d.nodeRulesAfter(&attach[0], after)
	return attach, after, nil
}

// keptGroups keeps the rules of a managed group up to date after the mode was disabled: the load balancer
// keeps its groups.
func (d *differ) keptGroups(b model.Balancer) error {
	if group, ok := d.have.Groups.Named(d.want.Managed.Name); ok && slices.Contains(b.SecurityGroups, group.ID) {
		changes, _, err := d.cloud.options.Groups.ManagedGroupChanges(d.have.Groups, d.want.Managed, nil)
		if err != nil {
			return err
		}
		d.add(changes...)
	}
	d.nodeRules(&vpc.GroupRef{ID: b.SecurityGroups[0], Name: b.SecurityGroups[0]})
	return nil
}

func (d *differ) nodeRules(from *vpc.GroupRef) { d.nodeRulesAfter(from, nil) }

// fromDescription returns the description of the rules that allow all traffic of a load balancer's security
// group.
const fromDescription = "kubernetes.io/rule/nlb/security-group"

// nodeRulesAfter plans the rules on the security groups of nodes. A load balancer with a security group needs
// one rule, whatever ports it has; but if an earlier manager's rules by address allow all its traffic, they
// stay.
func (d *differ) nodeRulesAfter(from *vpc.GroupRef, after []plan.Ref) {
	if d.want.NoNodeRules {
		return
	}
	byCIDR := vpc.NodeRules{LoadBalancer: model.DefaultName(d.key), Groups: d.want.NodeGroups.IDs,
		Keep:  d.want.NodeGroups.Unclear,
		Rules: d.want.ByCIDR.Rules()}
	rules := byCIDR
	if from != nil {
		if d.have.Balancer != nil && from.ID != "" && byCIDR.Satisfied(d.have.Groups) {
			return
		}
		rules = vpc.NodeRules{LoadBalancer: byCIDR.LoadBalancer, Groups: byCIDR.Groups, Keep: byCIDR.Keep, From: from,
			FromDescription: fromDescription}
		if b := d.have.Balancer; b != nil {
			rules.NotFrom = without(d.ownSources(b.SecurityGroups, d.managedGroups()), []string{from.ID})
		}
	}
	for _, change := range d.cloud.options.Groups.NodeRuleChanges(d.have.Groups, rules, after) {
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
	groups := d.cloud.options.Groups
	managed := d.managedGroups()
	if !d.cloud.options.Settings.NoNodeRules {
		rules := vpc.NodeRules{LoadBalancer: model.DefaultName(d.key), FromDescription: fromDescription,
			NotFrom: d.ownSources(attached, managed)}
		d.add(groups.NodeRuleChanges(d.have.Groups, rules, nil)...)
	}
	for _, group := range managed {
		d.add(groups.GroupDeleteChanges(d.have.Groups, group, after)...)
	}
}

// managedGroups are the security groups that were created for the Service's load balancer.
func (d *differ) managedGroups() []vpc.Group {
	name := names.ManagedGroupName(d.key.ClusterName, tags.Service(d.key), d.key.UID)
	var out []vpc.Group
	for _, g := range d.have.Groups.All() {
		made := strings.HasPrefix(g.Name, "k8s-") && !strings.HasPrefix(g.Name, names.ClassicGroupName("")) &&
			tags.IsFor(g.Tags, d.cloud.options.Cluster.ID, d.key)
		if (g.Name == name || made) && d.have.Groups.Owned(g.ID) && tags.Foreign(g.Tags, d.cloud.options.Cluster.ID,
			d.key) == "" {
			out = append(out, g)
		}
	}
	return out
}

// ownSources are the security groups of a load balancer that no other network load balancer has. Rules of
// ours that refer to them are removed with it; those that refer to a deleted group are removed with that
// anyway.
func (d *differ) ownSources(attached []string, managed []vpc.Group) []string {
	return slices.DeleteFunc(slices.Clone(attached), func(id string) bool {
		return slices.Contains(d.have.SharedGroups, id) || slices.ContainsFunc(managed,
			func(g vpc.Group) bool { return g.ID == id })
	})
}

// refuseForeign returns the error about a foreign load balancer of our name.
func refuseForeign(key lbcommon.Key, b model.Balancer, owner string) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Service " + key.Namespace + "/" + key.Name,
		Err: fmt.Errorf("the load balancer %s belongs to %s and is left alone: give each cluster an ID of its own, or "+
			"delete that load balancer", b.Name, owner)}
}

// wrote records the outcome of a write in the snapshot: the change, or, if it failed, that its outcome is
// uncertain. It returns err.
func (d *differ) wrote(err error, change func(*observe.Store)) error {
	if err != nil {
		d.cloud.store.MarkUncertain(d.key)
		return err
	}
	change(d.cloud.store)
	return nil
}

// name returns the name of the load balancer.
func (d *differ) name() string {
	if b := d.have.Balancer; b != nil {
		return b.Name
	}
	return cmp.Or(d.want.Name, model.DefaultName(d.key))
}
