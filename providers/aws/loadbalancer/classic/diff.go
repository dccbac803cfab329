package classic

import (
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Diff plans the changes from the existing to the desired objects; a nil want means that nothing should
// exist. It makes no call. An error refuses an object of another cluster, before the first change.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	d := &differ{scope: c.scope(key), noNodeRules: c.options.NoNodeRules, have: have}
	d.plan.Subject = key.Subject()
	if want == nil {
		d.remove()
		return d.plan, nil
	}
	d.want = *want
	d.plan.Warnings = slices.Clone(want.Warnings)
	if b := have.Balancer; b != nil {
		if err := d.refuseForeign(*b); err != nil {
			return plan.Plan{}, err
		}
	}
	warning, err := want.NodeGroups.Refuse(have.Balancer != nil)
	if err != nil {
		return plan.Plan{}, err
	}
	if warning != "" {
		d.plan.Warnf("%s", warning)
	}
	if err := want.Refusal; err != nil && have.Balancer == nil {
		return plan.Plan{}, err
	} else if err != nil {
		d.plan.Warnf("the load balancer stays: %v", err)
	}
	if err := d.ensure(); err != nil {
		return plan.Plan{}, err
	}
	return d.plan, nil
}

// Bind returns a plan of Diff or DiffMembers with the functions that make its steps.
func (c *Cloud) Bind(key lbcommon.Key, _ Observed, p plan.Plan) plan.Plan {
	return plan.Bind(plan.Bind(p, c.options.Groups), c.writer(key))
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() error {
	refs, created, err := d.diffManaged()
	if err != nil {
		return err
	}
	var applied []plan.Ref
	var b Balancer
	if d.have.Balancer == nil {
		creation := d.balancerCreate(refs, created)
		d.add(creation)
		d.base = []plan.Ref{creation.Ref}
		b = d.initialBalancer()
		d.warnUnserved(b.Subnets)
	} else {
		b = *d.have.Balancer
		for _, id := range d.keptGroups() {
			refs = append(refs, vpc.GroupRef{ID: id, Name: id})
		}
		applied = d.diffGroups(b.Groups, refs, created)
		if d.diffScheme(b.Scheme) {
			subnets := d.keepSubnets(b.Subnets, d.desiredSubnets(b))
			d.diffSubnets(b.Subnets, subnets)
			d.warnUnserved(subnets)
		}
		d.diffListeners(b.Listeners)
		d.diffTags(b.Tags)
	}
	d.diffPolicies(b)
	d.orderPolicies()
	d.diffHealthCheck(b.HealthCheck)
	d.diffAttributes(b.Attributes)
	d.diffInstances(b.Instances, difference(d.want.Instances, b.Instances))
	retired := d.retireManaged(applied)
	d.diffNodeRules(refs, created, applied, retired)
	return nil
}

// diffScheme reports whether the load balancer has the desired scheme. If not, it refuses the change with
// advice, and all other changes are made in the existing subnets: nodes must be able to join and leave.
func (d *differ) diffScheme(have string) bool {
	if have != d.want.Scheme {
		d.plan.Warnf("%s: load balancer %s is %s, and AWS cannot make it %s, so it stays as it is: set the annotation "+
			"back, or delete the Service and create it again, which gives it a new address",
			annotation.KeyInternal, d.name, have, d.want.Scheme)
	}
	return have == d.want.Scheme
}

// remove plans the deletion of all objects of ours. Objects of another cluster are ignored: they must not
// block the deletion of the Service, and they are not changed.
func (d *differ) remove() {
	var after []plan.Ref
	if b := d.have.Balancer; b != nil {
		if owner := d.foreignOwner(*b); owner != "" {
			d.plan.Warnf("load balancer %s belongs to %s and is left alone", b.Name, owner)
			return // Its security group belongs to that owner too.
		}
		after = d.removeNodeRules()
		deletion := d.balancerDelete(after)
		d.add(deletion)
		after = []plan.Ref{deletion.Ref}
	}
	if group, ok := d.managedGroup(); ok {
		d.plan.Add(d.groupDelete(group, after)...)
	}
}

// removeNodeRules plans the removal of the rules that allow traffic from groups that stay when the load balancer is
// deleted, and that no other load balancer uses. It comes first, since the load balancer identifies those groups.
func (d *differ) removeNodeRules() []plan.Ref {
	if d.noNodeRules {
		return nil
	}
	managed, _ := d.managedGroup()
	var refs []plan.Ref
	for _, change := range vpc.NodeRuleChanges(d.have.Groups,
		vpc.NodeRules{LoadBalancer: d.name, NotFrom: d.exclusiveGroups(managed.ID)}, nil) {
		d.plan.Add(change)
		refs = append(refs, change.Ref)
	}
	return refs
}
