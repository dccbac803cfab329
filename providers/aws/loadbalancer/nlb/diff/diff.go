// Package diff computes the changes from the existing to the desired objects of a network load balancer. It is pure: a
// plan is data, and package apply makes its steps. Its files are in layers, and refer only to earlier ones: writer.go
// and differ.go, then one file for each kind of object, with its fields, changes and steps, and keep.go, diff.go and
// members.go with the plans.
package diff

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Effects returns the disruptive changes of network load balancers.
func Effects() []plan.Effect {
	return slices.Concat(listenerKind.Effects(), groupAttributes.Effects(), balancerKind.Effects())
}

// Plan returns the changes from the existing to the desired objects of a Service, or to none if want is nil, with
// warnings for its author: security groups first, then the load balancer, then target groups with their targets, then
// the listeners that forward to them. Deletions have the reverse order. Foreign objects are omitted when nothing should
// exist. The error refuses another owner's load balancer, or a new one that cannot be created.
func Plan(o Options, want *model.Desired, have model.Observed) (changes []plan.Change, warnings []string, err error) {
	d := newDiffer(o, have)
	if want == nil {
		d.remove()
		return d.changes, d.warnings, nil
	}
	d.want = *want
	d.warnings = slices.Clone(want.Warnings)
	if b := have.Balancer; b != nil {
		if owner := have.ForeignOwner(o.Cluster.ID, d.Key); owner != "" {
			return nil, nil, model.RefuseForeign(d.Key, *b, owner)
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

// ensure plans the changes to the desired objects.
func (d *differ) ensure() error {
	groups, created, err := d.diffSecurityGroups()
	if err != nil {
		return err
	}
	var base []plan.Ref // the changes that new target groups and listeners wait for
	if d.have.Balancer == nil {
		creation := d.balancerCreate(groups, created)
		d.add(creation)
		base = []plan.Ref{creation.Ref}
		d.diffAttributes(model.NewAttributes(), base)
	} else {
		base = d.balancerUpdate(groups, created)
	}
	d.adoptGroups()
	removesIPv6First := d.removesIPv6First()
	if removesIPv6First {
		base = append(base, d.removeIPv6(base)...)
	}
	planned := len(d.changes)
	listeners := d.diffPorts(base)
	for i := range d.changes[planned:] {
		d.changes[planned+i].Order = append(d.changes[planned+i].Order, d.order...)
	}
	for _, i := range d.closing {
		// Node ports close once no listener forwards to them, no subnet probes them, and no packet comes from a group.
		d.changes[i].After = slices.Concat(d.changes[i].After, d.left, d.order, base, listeners)
	}
	if !removesIPv6First {
		d.removeIPv6(listeners)
	}
	d.diffTags(listeners)
	d.createRecord()
	d.warnUnserved()
	return nil
}

// warnUnserved warns about nodes in zones where the load balancer will have no subnet.
func (d *differ) warnUnserved() {
	subnets := model.Subnets(d.want.Zones)
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
		if owner := d.have.ForeignOwner(d.Cluster.ID, d.Key); owner != "" {
			d.warnf("load balancer %s belongs to %s and is left alone", b.Name, owner)
		} else {
			d.want.Tags = tags.Desired(d.Cluster.ID, d.Cluster.Legacy, d.Key, nil)
			all := func(model.TargetGroup) bool { return true }
			marked := d.markUnmarked("parts of load balancer "+d.name(), all)
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
