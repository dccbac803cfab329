package diff

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

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
	change, ok := d.groupAttributes(ref, have.Attributes, want.Group, nil)
	if ok && len(have.Balancers) > 0 {
		change.Key = listenerKey(want.Port)
		switchesProxy.Declare(&change)
	}
	return change, ok
}

func (d *differ) newTargetGroup(listener model.DesiredListener, base []plan.Ref) (reference, []plan.Ref) {
	want := listener.Group
	creation := d.groupCreate(want, base)
	d.add(creation)
	ref, ready := reference{kind: kindTargetGroup, name: want.Name}, []plan.Ref{creation.Ref}
	if change, ok := d.groupAttributes(ref, map[string]string{}, want, []plan.Ref{creation.Ref}); ok {
		if d.switchesProxy(listener) {
			change.Key = listenerKey(listener.Port)
			switchesProxy.Declare(&change)
		}
		d.add(change)
		ready = append(ready, change.Ref)
	}
	if change, ok := d.targetsUpdate(ref, model.TargetGroup{}, want, []plan.Ref{creation.Ref}); ok {
		d.add(change)
		ready = append(ready, change.Ref)
	}
	return ref, ready
}

// switchesProxy reports whether an existing listener gets another value of the PROXY protocol with its new target
// group.
func (d *differ) switchesProxy(want model.DesiredListener) bool {
	l, ok := d.listenerOn(want.Port)
	have, known := d.servingGroup(l)
	value, set := want.Group.Attributes[annotation.AttributeProxyProtocol]
	return ok && known && set && have.Attributes != nil && have.Attributes[annotation.AttributeProxyProtocol] != value
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
	var f plan.Fields
	f.Diff("protocol", "", want.Protocol)
	f.Diff("port", "", plan.ShowInt(want.Port))
	f.Diff("targetType", "", want.TargetType)
	f = append(f, healthFields(model.HealthCheck{}, want.Health)...)
	f.Diff("tags", "", plan.ShowMap(d.want.Tags))
	ref := reference{kind: kindTargetGroup, name: want.Name}
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: want.Name, Action: plan.Create}, Fields: f, After: slices.Clone(after),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			arn, err := d.Write.CreateGroup(ctx, want, d.want.VPC, d.want.Tags)
			if err == nil {
				ids.Set(ref.handle(), arn)
			}
			return err
		},
	}
}

// groupUpdate returns the change of a target group's health check, if it differs.
func (d *differ) groupUpdate(have model.TargetGroup, want model.DesiredGroup) (plan.Change, bool) {
	h := want.Health
	if h.Timeout == 0 {
		h.Timeout = have.Health.Timeout
	}
	f := healthFields(have.Health, h)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: want.Name, Action: plan.Update}, Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.Write.UpdateHealthCheck(ctx, have, want.Health)
		},
	}, true
}

// healthFields returns the differing settings of two health checks, by their names in the API. All of them are
// compared with the existing ones.
func healthFields(have, want model.HealthCheck) plan.Fields {
	var f plan.Fields
	f.Diff("healthCheckProtocol", have.Protocol, want.Protocol)
	f.Diff("healthCheckPort", have.Port, want.Port)
	f.Diff("healthCheckPath", have.Path, want.Path)
	f.Diff("healthCheckIntervalSeconds", plan.ShowInt(have.Interval), plan.ShowInt(want.Interval))
	f.Diff("healthCheckTimeoutSeconds", plan.ShowInt(have.Timeout), plan.ShowInt(want.Timeout))
	f.Diff("healthyThresholdCount", plan.ShowInt(have.Healthy), plan.ShowInt(want.Healthy))
	f.Diff("unhealthyThresholdCount", plan.ShowInt(have.Unhealthy), plan.ShowInt(want.Unhealthy))
	return f
}

// groupDelete returns the deletion of a target group that no listener uses.
func (d *differ) groupDelete(have model.TargetGroup, after []plan.Ref, reason string) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: have.Name, Action: plan.Delete}, ID: have.ARN, After: slices.Clone(after),
		Reason: reason,
		Do:     func(ctx context.Context, _ *plan.Handles) error { return d.Write.DeleteGroup(ctx, have.ARN) },
	}
}

// groupRetire returns the change that takes a target group out of service after its listener has moved to another one.
// The group is deleted once its connections have drained.
func (d *differ) groupRetire(have model.TargetGroup, after []plan.Ref) plan.Change {
	balancer := ""
	if b := d.have.Balancer; b != nil {
		balancer = b.ARN
	}
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: have.Name, Action: plan.Delete}, ID: have.ARN, After: slices.Clone(after),
		Reason: "no listener forwards to it: its targets are removed, and it is deleted when their connections have drained",
		Do:     func(ctx context.Context, _ *plan.Handles) error { return d.Write.RetireGroup(ctx, balancer, have) },
	}
}
