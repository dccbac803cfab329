package nlb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

// defaultTimeout is AWS' timeout of a TCP probe, in seconds.
const defaultTimeout = 10

// groupRef is a target group: an existing one, with its ARN, or one that the plan creates.
type groupRef struct{ arn, name string }

func (g groupRef) handle() plan.Handle { return plan.Handle("target group " + g.name) }

func (g groupRef) resolve(ids *plan.Handles) (string, error) {
	if g.arn != "" {
		return g.arn, nil
	}
	return ids.ID(g.handle())
}

// targetGroup plans a desired target group with its targets. It returns the group, and the changes after
// which listeners may forward to it. Creations wait for base.
func (d *differ) targetGroup(want model.WantedGroup, base []plan.Ref) (groupRef, []plan.Ref) {
	have, exists := d.have.GroupNamed(want.Name)
	if exists && !sameKind(have, want) && len(have.Balancers) == 0 {
		// An unusable object of our name blocks the name.
		deletion := d.groupDelete(have, nil, "it has the name of a target group that is needed, and other settings that "+
			"cannot change")
		d.add(deletion)
		exists, base = false, append(slices.Clone(base), deletion.Ref)
	}
	if !exists {
		return d.newTargetGroup(want, base)
	}
	ref := groupRef{arn: have.ARN, name: have.Name}
	if change, ok := d.groupUpdate(have, want); ok {
		d.add(change)
	}
	if change, ok := d.groupAttributes(ref, have.Attributes, want, nil); ok {
		if plan.Fields(change.Fields).Has(annotation.AttributeProxyProtocol) && len(have.Balancers) > 0 {
			switchesProxy.Declare(&change)
		}
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

func (d *differ) newTargetGroup(want model.WantedGroup, base []plan.Ref) (groupRef, []plan.Ref) {
	creation := d.groupCreate(want, base)
	d.add(creation)
	ref, ready := groupRef{name: want.Name}, []plan.Ref{creation.Ref}
	if change, ok := d.groupAttributes(ref, map[string]string{}, want, []plan.Ref{creation.Ref}); ok {
		d.add(change)
		ready = append(ready, change.Ref)
	}
	if change, ok := d.targetsUpdate(ref, model.TargetGroup{}, want, []plan.Ref{creation.Ref}); ok {
		d.add(change)
		ready = append(ready, change.Ref)
	}
	return ref, ready
}

// adoptGroups keeps the target groups of listeners that have other names than ours and the desired settings,
// such as those of a cluster with a changed ID.
func (d *differ) adoptGroups() {
	d.want.Listeners = slices.Clone(d.want.Listeners)
	for i := range d.want.Listeners {
		want := &d.want.Listeners[i]
		l, ok := d.listenerOn(want.Port)
		if !ok || len(l.Forwards) != 1 {
			continue
		}
		g, ok := d.have.Group(l.Forwards[0].Group)
		if ok && !d.foreignGroup(g) && inPlace(g, want.Group) {
			want.Group.Name = g.Name
		}
	}
}

// inPlace reports whether a target group can become the desired one in place.
func inPlace(have model.TargetGroup, want model.WantedGroup) bool {
	return sameKind(have, want) && have.Health.Protocol == want.Health.Protocol &&
		have.Health.Interval == want.Health.Interval
}

// sameKind compares immutable fields.
func sameKind(have model.TargetGroup, want model.WantedGroup) bool {
	return have.Protocol == want.Protocol && have.Port == want.Port && have.TargetType == want.TargetType &&
		have.AddressType == want.AddressType
}

func (d *differ) groupCreate(want model.WantedGroup, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("protocol", "", want.Protocol)
	f.Diff("port", "", plan.ShowInt(want.Port))
	f.Diff("targetType", "", want.TargetType)
	f = append(f, healthFields(model.HealthCheck{}, want.Health)...)
	f.Diff("tags", "", plan.ShowMap(d.want.Tags))
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: want.Name, Action: plan.Create}, Fields: f, After: slices.Clone(after),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			arn, err := d.createGroup(ctx, want)
			if err == nil {
				ids.Set(groupRef{name: want.Name}.handle(), arn)
			}
			return err
		},
	}
}

func (d *differ) createGroup(ctx context.Context, want model.WantedGroup) (string, error) {
	h := want.Health
	in := &elbv2.CreateTargetGroupInput{
		Name: aws.String(want.Name), Protocol: types.ProtocolEnum(want.Protocol), Port: aws.Int32(want.Port),
		VpcId:      aws.String(d.want.VPC),
		TargetType: types.TargetTypeEnum(want.TargetType), Tags: toTags(d.want.Tags),
		HealthCheckProtocol: types.ProtocolEnum(h.Protocol), HealthCheckPort: aws.String(h.Port),
		HealthCheckPath:            optional(h.Path),
		HealthCheckIntervalSeconds: aws.Int32(h.Interval), HealthyThresholdCount: aws.Int32(h.Healthy),
		UnhealthyThresholdCount: aws.Int32(h.Unhealthy),
	}
	switch {
	case h.Timeout > 0:
		in.HealthCheckTimeoutSeconds = aws.Int32(h.Timeout)
	case h.Interval < defaultTimeout:
		in.HealthCheckTimeoutSeconds = aws.Int32(h.Interval) // a probe must end before the next starts
	}
	if want.AddressType != model.AddressIPv4 {
		in.IpAddressType = types.TargetGroupIpAddressTypeEnum(want.AddressType)
	}
	out, err := d.cloud.options.API.CreateTargetGroup(ctx, in)
	var list []types.TargetGroup
	if out != nil {
		list = out.TargetGroups
	}
	made, err := first("CreateTargetGroup", list, err)
	if err != nil {
		d.cloud.store.MarkUncertain(d.key)
		if cloudapi.Is(err, cloudapi.AlreadyExists) {
			err = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateTargetGroup",
				Err: fmt.Errorf("a target group %s with other settings exists; it is deleted if its tags name this Service, "+
					"else delete it: %w", want.Name, err)}
		}
		return "", err
	}
	g := observe.ToGroup(made)
	d.cloud.store.AddGroup(g, maps.Clone(d.want.Tags))
	return g.ARN, nil
}

// groupUpdate returns the change of a target group's health check, if it differs.
func (d *differ) groupUpdate(have model.TargetGroup, want model.WantedGroup) (plan.Change, bool) {
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
			in := &elbv2.ModifyTargetGroupInput{
				TargetGroupArn: aws.String(have.ARN), HealthCheckProtocol: types.ProtocolEnum(h.Protocol),
				HealthCheckPort: aws.String(h.Port), HealthCheckPath: optional(h.Path),
				HealthCheckIntervalSeconds: aws.Int32(h.Interval), HealthyThresholdCount: aws.Int32(h.Healthy),
				UnhealthyThresholdCount: aws.Int32(h.Unhealthy),
			}
			if want.Health.Timeout > 0 {
				in.HealthCheckTimeoutSeconds = aws.Int32(h.Timeout)
			}
			_, err := d.cloud.options.API.ModifyTargetGroup(ctx, in)
			return d.wrote(awserr.Wrap("ModifyTargetGroup", err), func(s *observe.Store) {
				s.UpdateHealthCheck(have.ARN, h)
			})
		},
	}, true
}

// healthFields are the differing settings of two health checks, by their names in the API. All of them are
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

// groupDelete deletes a target group that no listener uses any more.
func (d *differ) groupDelete(have model.TargetGroup, after []plan.Ref, reason string) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: have.Name, Action: plan.Delete}, ID: have.ARN, After: slices.Clone(after),
		Reason: reason,
		Do:     func(ctx context.Context, _ *plan.Handles) error { return d.deleteGroup(ctx, have.ARN) },
	}
}

func (d *differ) deleteGroup(ctx context.Context, arn string) error {
	_, err := d.cloud.options.API.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
	err = cloudapi.IgnoreNotFound(awserr.Wrap("DeleteTargetGroup", err))
	if cloudapi.Is(err, cloudapi.Conflict) {
		// For some seconds, a deleted load balancer may count as a user of its target groups.
		err = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "DeleteTargetGroup", RetryAfter: releaseTime, Err: err}
	}
	return d.wrote(err, func(s *observe.Store) { s.DeleteGroup(arn) })
}

// releaseTime is the time until the retry for objects that a deleted load balancer still uses.
const releaseTime = 15 * time.Second

// groupRetire takes a target group out of service after its listener has moved to another one: its
// connections drain, and then it is deleted. A group that still drains is left to a later reconcile, so that
// no worker waits for it; at the latest the audit deletes it.
func (d *differ) groupRetire(have model.TargetGroup, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargetGroup, Name: have.Name, Action: plan.Delete}, ID: have.ARN, After: slices.Clone(after),
		Reason: "no listener sends to it any more: its targets are removed, and it goes when their connections have finished",
		Do: func(ctx context.Context, _ *plan.Handles) error {
			var leaving []model.Target
			for target, state := range have.Targets {
				if state != types.TargetHealthStateEnumDraining {
					leaving = append(leaving, target)
				}
			}
			sorting.Func(leaving, func(a, b model.Target) int { return cmp.Compare(a.ID, b.ID) })
			err := d.deregister(ctx, have.ARN, leaving)
			if cloudapi.Is(err, cloudapi.NotFound) {
				d.cloud.store.DeleteGroup(have.ARN)
				return nil
			}
			if err != nil {
				return err
			}
			if len(leaving) > 0 {
				if err := d.cloud.store.ReadTargets(ctx, have.ARN); err != nil {
					return err
				}
			}
			if left, ok := d.cloud.store.Group(have.ARN); ok && left.Draining() {
				return nil
			}
			if err := d.detach(ctx, have.ARN); err != nil {
				return err
			}
			return d.deleteGroup(ctx, have.ARN)
		},
	}
}

// waitHealthy returns once a new target group can take over: one of its targets is healthy, or the old one
// has no healthy target, or the wait timed out.
func (d *differ) waitHealthy(ctx context.Context, fresh, old string) error {
	s, c := d.cloud.store, d.cloud.options.Clock
	for deadline := c.Now().Add(healthWait); c.Now().Before(deadline); {
		for _, arn := range []string{fresh, old} {
			if err := s.ReadTargets(ctx, arn); err != nil {
				return err
			}
		}
		a, okA := s.Group(fresh)
		b, okB := s.Group(old)
		if !okA || !okB || a.Healthy() > 0 || b.Healthy() == 0 {
			return nil
		}
		if err := clocks.Sleep(ctx, c, healthPoll); err != nil {
			return fmt.Errorf("waiting until targets of %s are healthy: %w", a.Name, err)
		}
	}
	return nil
}
