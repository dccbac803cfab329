package classic

import (
	"cmp"
	"context"
	"maps"
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const kindGroups = "security groups of load balancer"

// desireGroups selects the security groups: the groups that the Service lists, else the one that all share, else
// one for this load balancer; then the extra ones. One of the former is the source in the rules on nodes.
func (d *Desired) desireGroups(o Options, r Request) {
	switch {
	case len(r.Options.SecurityGroups) > 0:
		d.Groups, d.Sources = r.Options.SecurityGroups, len(r.Options.SecurityGroups)
	case o.SecurityGroup != "":
		d.Groups, d.Sources = []string{o.SecurityGroup}, 1
	default:
		d.Managed = &vpc.ManagedGroup{
			Name: names.ClassicGroupName(d.Name), Description: names.ClassicGroupDescription(d.Name, tags.Service(r.Key)),
			Tags: groupTags(d.Tags), Rules: vpc.ClientRules(r.Service, []v1.IPFamily{v1.IPv4Protocol}), Handle: groupHandle,
		}
	}
	for _, id := range r.Options.ExtraSecurityGroups {
		if !slices.Contains(d.Groups, id) {
			d.Groups = append(slices.Clone(d.Groups), id)
		}
	}
}

// groupTags returns the tags of the load balancer without the name of the Service, which its group has never had.
func groupTags(balancer map[string]string) map[string]string {
	tags := maps.Clone(balancer)
	delete(tags, names.ServiceTag)
	return tags
}

// diffManaged plans the managed group, and returns the desired groups of the load balancer with the change
// that creates one of them.
func (d *differ) diffManaged() (refs []vpc.GroupRef, created []plan.Ref, err error) {
	if d.want.Managed != nil {
		changes, ref, err := vpc.ManagedGroupChanges(d.have.Groups, *d.want.Managed, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, change := range changes {
			if change.Kind == vpc.KindGroup && change.Action == plan.Create {
				created = append(created, change.Ref)
			}
			if change.Kind == vpc.KindRules && change.Action == plan.Create {
				d.allowed = append(d.allowed, change.Ref)
			}
		}
		d.plan.Add(changes...)
		refs = append(refs, ref)
	}
	for _, id := range d.want.Groups {
		ref := vpc.GroupRef{ID: id, Name: id}
		if group, ok := d.have.Groups.ByID(id); ok {
			ref.Name = group.String()
		}
		refs = append(refs, ref)
	}
	return refs, created, nil
}

// diffGroups plans the groups of an existing load balancer.
func (d *differ) diffGroups(have []string, refs []vpc.GroupRef, created []plan.Ref) (applied []plan.Ref) {
	want := api.Convert(refs, func(r vpc.GroupRef) string { return r.ID })
	if slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))) {
		return nil
	}
	change := plan.Change{
		Ref:    plan.Ref{Kind: kindGroups, Name: d.name, Action: plan.Update},
		Fields: []plan.Field{{Name: vpc.FieldGroups, Before: plan.ShowSet(have), After: showRefs(refs)}},
		After:  slices.Concat(created, d.allowed),
		Step:   groupsUpdate{refs, d.advice()},
	}
	vpc.DeclareGroups(&change, have, want)
	d.add(change)
	return []plan.Ref{change.Ref}
}

// groupsUpdate replaces the security groups of the load balancer.
type groupsUpdate struct {
	groups []vpc.GroupRef
	advice advice
}

// Do implements plan.Step.
func (s groupsUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	groupIDs, err := vpc.ResolveGroups(s.groups, ids)
	if err != nil {
		return err
	}
	_, err = w.api.ApplySecurityGroupsToLoadBalancer(ctx,
		&elb.ApplySecurityGroupsToLoadBalancerInput{LoadBalancerName: &w.name, SecurityGroups: groupIDs})
	return w.finishBalancer(s.advice.classify("ApplySecurityGroupsToLoadBalancer", err),
		func(b *Balancer) { b.Groups = groupIDs })
}

// NodeRules returns the rules on the security groups of nodes that the existing load balancer of a Service needs:
// none if it belongs to another owner.
func (c *Cloud) NodeRules(key lbcommon.Key, want *Desired, have Observed) vpc.NodeRules {
	b := have.Balancer
	if b == nil || want == nil || c.options.NoNodeRules || c.scope(key).foreignOwner(*b) != "" {
		return vpc.NodeRules{LoadBalancer: Name(key)}
	}
	d := &differ{scope: c.scope(key), want: *want, have: have}
	var refs []vpc.GroupRef
	if want.Managed != nil {
		group, _ := d.managedGroup()
		refs = append(refs, vpc.GroupRef{ID: group.ID})
	}
	for _, id := range want.Groups {
		refs = append(refs, vpc.GroupRef{ID: id})
	}
	return d.desiredNodeRules(d.source(refs))
}

// source returns the group of the load balancer whose traffic nodes allow: the managed one, or of those that the
// Service lists the first with the cluster's tag, else the first, as with cloud-provider-aws. If nodes already allow
// the traffic of another listed one, that is enough.
func (d *differ) source(refs []vpc.GroupRef) vpc.GroupRef {
	if d.want.Managed != nil {
		return refs[0]
	}
	sources := slices.Clone(refs[:d.want.Sources])
	sorting.StableFunc(sources, func(a, b vpc.GroupRef) int {
		switch taggedA, taggedB := d.have.Groups.Tagged(a.ID), d.have.Groups.Tagged(b.ID); {
		case taggedA == taggedB:
			return 0
		case taggedA:
			return -1
		default:
			return 1
		}
	})
	if b := d.have.Balancer; b != nil {
		for _, ref := range sources {
			rules := vpc.NodeRules{Groups: d.want.NodeGroups.IDs, From: &ref}
			if slices.Contains(b.Groups, ref.ID) && rules.Satisfied(d.have.Groups) {
				return ref
			}
		}
	}
	return sources[0]
}

// desiredNodeRules returns the rule of each security group of nodes that allows the load balancer's traffic, which
// comes from one of its groups.
func (d *differ) desiredNodeRules(from vpc.GroupRef) vpc.NodeRules {
	rules := vpc.NodeRules{LoadBalancer: d.name, Groups: d.want.NodeGroups.IDs, Keep: d.want.NodeGroups.Unclear,
		From: &from, FromDescription: names.ClassicGroupRule}
	if d.want.Managed != nil {
		rules.FromDescription = "" // as with cloud-provider-aws
		if from.ID != "" && !d.have.Groups.InUse(from.ID) {
			rules.Created = []string{from.ID}
		}
	}
	return rules
}

// diffNodeRules plans the rules on nodes. A group that other load balancers use too keeps its rules everywhere.
func (d *differ) diffNodeRules(refs []vpc.GroupRef, created, applied []plan.Ref, retired string) {
	if d.noNodeRules || len(refs) == 0 {
		return
	}
	rules := d.desiredNodeRules(d.source(refs))
	rules.NotFrom, rules.RevokeAfter = d.exclusiveGroups(retired), applied
	changes := vpc.NodeRuleChanges(d.have.Groups, rules, created)
	d.plan.Add(changes...)
	d.awaitNodeRules(changes)
}

// awaitNodeRules lets the change of groups wait for the rules that are added. AWS may refuse one: then nodes do not
// allow the traffic of the other groups.
func (d *differ) awaitNodeRules(changes []plan.Change) {
	for i, update := range d.plan.Changes {
		if update.Kind != kindGroups {
			continue
		}
		for _, change := range changes {
			if change.Action == plan.Create {
				update.After = append(slices.Clone(update.After), change.Ref)
			}
		}
		d.plan.Changes[i] = update
	}
}

// keptGroups returns the security groups that the load balancer does not leave.
func (d *differ) keptGroups() []string {
	if d.have.Balancer == nil {
		return nil
	}
	return vpc.KeptGroups(kindGroups, d.have.Balancer.Groups, d.want.Kept)
}

// exclusiveGroups returns the groups of the existing load balancer that no other load balancer uses. It omits those
// that it does not leave, and the retired one: its deletion includes its rules.
func (d *differ) exclusiveGroups(retired string) []string {
	if d.have.Balancer == nil {
		return nil
	}
	kept := d.keptGroups()
	return slices.DeleteFunc(slices.Clone(d.have.Balancer.Groups), func(id string) bool {
		return d.have.Groups.InUse(id) || id == retired || slices.Contains(kept, id)
	})
}

// managedGroup returns the group that was created for this load balancer, if we may delete it.
func (d *differ) managedGroup() (vpc.Group, bool) {
	group, ok := d.have.Groups.Named(names.ClassicGroupName(d.name))
	return group, ok && !d.cluster.Foreign(group.Tags)
}

// retireManaged plans the deletion of the group that was created for the load balancer, once it uses others.
// Groups of other clients are never deleted, whatever their tags. One that an earlier manager left stays until another
// change.
func (d *differ) retireManaged(applied []plan.Ref) (retired string) {
	group, ok := d.managedGroup()
	if !ok || d.want.Managed != nil || slices.Contains(d.keptGroups(), group.ID) {
		return ""
	}
	for _, change := range d.groupDelete(group, applied) {
		change.Mark = true
		d.plan.Add(change)
	}
	return group.ID
}

// groupDelete returns the changes that delete the group that was created for the load balancer. It warns about one that
// another load balancer uses.
func (d *differ) groupDelete(group vpc.Group, after []plan.Ref) []plan.Change {
	changes, warning := vpc.GroupDeleteChanges(d.have.Groups, group, after)
	if warning != "" {
		d.plan.Warnf("%s", warning)
	}
	return changes
}

func showRefs(refs []vpc.GroupRef) string {
	return plan.ShowSet(api.Convert(refs, func(r vpc.GroupRef) string { return cmp.Or(r.ID, r.Name) }))
}
