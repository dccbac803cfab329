package diff

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// targetGroup has the fields of a target group, existing or wanted.
type targetGroup struct {
	model.DesiredGroup
	tags map[string]string
}

// groupKind are the target groups. Their attributes, targets and tags have calls of their own.
var groupKind = rows.Kind[*targetGroup, *targetGroup]{
	Name: kindTargetGroup,
	Key:  func(g *targetGroup) string { return g.Name },
	Rows: rows.InPlace([]rows.Row[*targetGroup, *targetGroup]{
		atCreation("protocol", rows.Text(func(g *targetGroup) *string { return &g.Protocol })),
		atCreation("port", rows.Number(func(g *targetGroup) *int32 { return &g.Port })),
		atCreation("targetType", rows.Text(func(g *targetGroup) *string { return &g.TargetType })),
		{Name: "healthCheckProtocol", Value: rows.Text(func(g *targetGroup) *string { return &g.Health.Protocol })},
		{Name: "healthCheckPort", Value: rows.Text(func(g *targetGroup) *string { return &g.Health.Port })},
		{Name: "healthCheckPath", Value: rows.Text(func(g *targetGroup) *string { return &g.Health.Path })},
		{
			Name:  "healthCheckIntervalSeconds",
			Value: rows.Number(func(g *targetGroup) *int32 { return &g.Health.Interval }),
		},
		{
			Name:  "healthCheckTimeoutSeconds",
			Value: rows.Number(func(g *targetGroup) *int32 { return &g.Health.Timeout }),
		},
		{Name: "healthyThresholdCount", Value: rows.Number(func(g *targetGroup) *int32 { return &g.Health.Healthy })},
		{Name: "unhealthyThresholdCount", Value: rows.Number(func(g *targetGroup) *int32 { return &g.Health.Unhealthy })},
		atCreation("tags", rows.Map(func(g *targetGroup) *map[string]string { return &g.tags })),
	}),
}

// targetGroup plans the target group of a listener with its targets. It returns the group, and the changes after
// which listeners may forward to it. Creations wait for base.
func (d *differ) targetGroup(listener model.DesiredListener, base []plan.Ref) (reference, []plan.Ref) {
	want := listener.Group
	have, exists := d.have.GroupNamed(want.Name)
	if exists && !sameKind(have, want) && len(have.Balancers) == 0 {
		// An unusable object of our name blocks the name.
		deletion := d.groupDelete(have, nil, "it has the name of a target group that is needed, and other settings that "+
			"cannot change")
		d.add(deletion)
		exists, base = false, append(slices.Clone(base), deletion.Ref)
	}
	if !exists {
		return d.newTargetGroup(listener, base)
	}
	ref := reference{kind: kindTargetGroup, name: have.Name, arn: have.ARN}
	if change, ok := d.groupUpdate(have, want); ok {
		d.add(change)
	}
	if change, ok := d.attributesOf(ref, have, listener); ok {
		d.add(change)
	}
	if change, ok := d.targetsUpdate(ref, have, want, nil); ok {
		d.add(change)
		if len(have.Balancers) == 0 {
			return ref, []plan.Ref{change.Ref}
		}
	}
	return ref, nil
}

// keptGroup plans the changes in place of a target group that its listener does not leave. Its targets follow the nodes
// with those of Members.
func (d *differ) keptGroup(listener model.Listener, want model.DesiredListener) reference {
	have, _ := d.servingGroup(listener)
	ref := reference{kind: kindTargetGroup, name: have.Name, arn: have.ARN}
	if ref.arn == "" && len(listener.Forwards) > 0 {
		ref.arn = listener.Forwards[0].Group
	}
	if have.Name != want.Group.Name || d.foreignGroup(have) {
		return ref
	}
	if change, ok := d.groupUpdate(have, want.Group); ok {
		d.add(change)
	}
	if change, ok := d.attributesOf(ref, have, want); ok {
		d.add(change)
	}
	return ref
}

// attributesOf returns the change of the attributes of the existing target group of a listener, if they differ.
func (d *differ) attributesOf(ref reference, have model.TargetGroup, want model.DesiredListener) (plan.Change, bool) {
	return d.groupAttributesUpdate(ref, have.Attributes, want, len(have.Balancers) > 0, nil)
}

func (d *differ) newTargetGroup(listener model.DesiredListener, base []plan.Ref) (reference, []plan.Ref) {
	want := listener.Group
	creation := d.groupCreate(want, base)
	d.add(creation)
	ref, ready := reference{kind: kindTargetGroup, name: want.Name}, []plan.Ref{creation.Ref}
	if change, ok := d.newGroupAttributes(ref, listener, []plan.Ref{creation.Ref}); ok {
		d.add(change)
		ready = append(ready, change.Ref)
	}
	if change, ok := d.targetsUpdate(ref, model.TargetGroup{}, want, []plan.Ref{creation.Ref}); ok {
		d.add(change)
		ready = append(ready, change.Ref)
	}
	return ref, ready
}

// newGroupAttributes returns the change that sets the attributes of a new target group, if the Service sets some. If
// the listener exists, its fields are those with other values than in the target group before: the same differences as
// if that one stayed, which the edit that replaces it does not cause.
func (d *differ) newGroupAttributes(ref reference, listener model.DesiredListener,
	after []plan.Ref) (plan.Change, bool) {
	all, ok := d.groupAttributesUpdate(ref, map[string]string{}, listener, false, after)
	l, exists := d.listenerOn(listener.Port)
	have, known := d.servingGroup(l)
	if !exists || !known || have.Attributes == nil {
		return all, ok
	}
	change, differs := d.groupAttributesUpdate(ref, have.Attributes, listener, true, after)
	if !differs {
		return all, ok
	}
	change.Step = all.Step
	return change, true
}

// adoptGroups keeps the target groups of listeners that have other names than ours and the desired settings,
// such as those of a cluster with a changed ID.
func (d *differ) adoptGroups() {
	d.want.Listeners = slices.Clone(d.want.Listeners)
	for i := range d.want.Listeners {
		want := &d.want.Listeners[i]
		l, ok := d.listenerOn(want.Port)
		if !ok || want.KeepGroup || len(l.Forwards) != 1 {
			continue
		}
		g, ok := d.have.Group(l.Forwards[0].Group)
		if ok && !d.foreignGroup(g) && inPlace(g, want.Group) {
			want.Group.Name = g.Name
		}
	}
}

// inPlace reports whether a target group can become the desired one in place.
func inPlace(have model.TargetGroup, want model.DesiredGroup) bool {
	return sameKind(have, want) && have.Health.Protocol == want.Health.Protocol &&
		have.Health.Interval == want.Health.Interval
}

// sameKind compares immutable fields.
func sameKind(have model.TargetGroup, want model.DesiredGroup) bool {
	return have.Protocol == want.Protocol && have.Port == want.Port && have.TargetType == want.TargetType &&
		have.AddressType == want.AddressType
}

func (d *differ) groupCreate(want model.DesiredGroup, after []plan.Ref) plan.Change {
	change := groupKind.Create(&targetGroup{want, d.want.Tags})
	ref := reference{kind: kindTargetGroup, name: want.Name}
	change.After, change.Step = slices.Clone(after), groupCreation{ref, want, d.want.VPC, d.want.Tags}
	return change
}

// groupCreation creates a target group.
type groupCreation struct {
	ref  reference
	want model.DesiredGroup
	vpc  string
	tags map[string]string
}

// Do implements plan.Step.
func (s groupCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arn, err := w.CreateGroup(ctx, s.want, s.vpc, s.tags)
	return s.ref.created(ids, arn, err)
}

// groupUpdate returns the change of a target group's health check, if it differs.
func (d *differ) groupUpdate(have model.TargetGroup, want model.DesiredGroup) (plan.Change, bool) {
	step := healthCheckUpdate{have, want.Health}
	want.Health.Timeout = cmp.Or(want.Health.Timeout, have.Health.Timeout)
	change, differ := groupKind.Update(&targetGroup{DesiredGroup: have.Desired()}, &targetGroup{DesiredGroup: want})
	change.Step = step
	return change, differ
}

// healthCheckUpdate changes the health check of a target group.
type healthCheckUpdate struct {
	group model.TargetGroup
	want  model.HealthCheck
}

// Do implements plan.Step.
func (s healthCheckUpdate) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.UpdateHealthCheck(ctx, s.group, s.want)
}

// groupDelete returns the deletion of a target group that no listener uses.
func (d *differ) groupDelete(have model.TargetGroup, after []plan.Ref, reason string) plan.Change {
	change := groupKind.Delete(&targetGroup{DesiredGroup: have.Desired()})
	change.ID, change.After, change.Reason, change.Step = have.ARN, slices.Clone(after), reason, groupDeletion(have.ARN)
	return change
}

// groupDeletion deletes a target group, by its ARN.
type groupDeletion string

// Do implements plan.Step.
func (s groupDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteGroup(ctx, string(s))
}

// groupRetire returns the change that takes a target group out of service after its listener has moved to another one.
// The group is deleted once its connections have drained.
func (d *differ) groupRetire(have model.TargetGroup, after []plan.Ref) plan.Change {
	change := d.groupDelete(have, after, "no listener forwards to it: its targets are removed, and it is deleted when "+
		"their connections have drained")
	change.Step = groupRetirement{d.balancer().arn, have}
	return change
}

// groupRetirement takes a target group out of service. The ARN of the load balancer may be "".
type groupRetirement struct {
	balancer string
	group    model.TargetGroup
}

// Do implements plan.Step.
func (s groupRetirement) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.RetireGroup(ctx, s.balancer, s.group)
}
