package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

const (
	// defaultTimeout is AWS' timeout of a TCP probe, in seconds.
	defaultTimeout = 10
	// releaseRetryAfter is the time until the retry for objects that a deleted load balancer still uses.
	releaseRetryAfter = 15 * time.Second
	// healthPoll is the interval of reads of the health of targets. The minimum interval of probes is 5 s.
	healthPoll = 5 * time.Second
	// healthWait bounds how long a new target group may take to become healthy before it is used anyway. AWS
	// takes up to 3 minutes to start with a target. Longer waits would leave the Service on node ports that may
	// be closed.
	healthWait = 3 * time.Minute
)

// CreateGroup creates a target group in a VPC, by its ID, and returns its ARN.
func (w Writer) CreateGroup(ctx context.Context, want model.DesiredGroup, vpc string,
	tags map[string]string) (string, error) {
	h := want.Health
	in := &elbv2.CreateTargetGroupInput{
		Name: aws.String(want.Name), Protocol: types.ProtocolEnum(want.Protocol), Port: aws.Int32(want.Port),
		VpcId:      aws.String(vpc),
		TargetType: types.TargetTypeEnum(want.TargetType), Tags: toTags(tags),
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
	out, err := w.api.CreateTargetGroup(ctx, in)
	created, err := singleItem("CreateTargetGroup", err, func() []types.TargetGroup { return out.TargetGroups })
	if err != nil {
		w.store.MarkUncertain(w.Key)
		if cloudapi.Is(err, cloudapi.AlreadyExists) {
			err = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateTargetGroup",
				Err: fmt.Errorf("a target group %s with other settings exists; it is deleted if its tags name this Service, "+
					"else delete it: %w", want.Name, err)}
		}
		return "", err
	}
	g := observe.ToGroup(created)
	w.store.AddGroup(g, maps.Clone(tags))
	return g.ARN, nil
}

// UpdateHealthCheck changes the health check of a target group. Without a timeout, it keeps the existing one.
func (w Writer) UpdateHealthCheck(ctx context.Context, have model.TargetGroup, want model.HealthCheck) error {
	in := &elbv2.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(have.ARN), HealthCheckProtocol: types.ProtocolEnum(want.Protocol),
		HealthCheckPort: aws.String(want.Port), HealthCheckPath: optional(want.Path),
		HealthCheckIntervalSeconds: aws.Int32(want.Interval), HealthyThresholdCount: aws.Int32(want.Healthy),
		UnhealthyThresholdCount: aws.Int32(want.Unhealthy),
	}
	if want.Timeout > 0 {
		in.HealthCheckTimeoutSeconds = aws.Int32(want.Timeout)
	}
	want.Timeout = cmp.Or(want.Timeout, have.Health.Timeout)
	_, err := w.api.ModifyTargetGroup(ctx, in)
	return w.finish(awserr.Wrap("ModifyTargetGroup", err), func() { w.store.UpdateHealthCheck(have.ARN, want) })
}

// SetGroupAttributes sets attributes of a target group.
func (w Writer) SetGroupAttributes(ctx context.Context, arn string, set map[string]string) error {
	_, err := w.api.ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{
		TargetGroupArn: &arn, Attributes: api.KeyValues(set, func(key, value *string) types.TargetGroupAttribute {
			return types.TargetGroupAttribute{Key: key, Value: value}
		}),
	})
	return w.finish(awserr.Wrap("ModifyTargetGroupAttributes", err), func() { w.store.UpdateGroupAttributes(arn, set) })
}

// DeleteGroup deletes a target group that no listener uses. A missing one counts as deleted.
func (w Writer) DeleteGroup(ctx context.Context, arn string) error {
	_, err := w.api.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
	err = cloudapi.IgnoreNotFound(awserr.Wrap("DeleteTargetGroup", err))
	if cloudapi.Is(err, cloudapi.Conflict) {
		// For some seconds, a deleted load balancer may count as a user of its target groups.
		err = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "DeleteTargetGroup",
			RetryAfter: releaseRetryAfter, Err: err}
	}
	return w.finish(err, func() { w.store.DeleteGroup(arn) })
}

// RetireGroup takes a target group out of service after its listener has moved to another one: its connections drain,
// and then it is detached from the listeners of the load balancer, an ARN or "", and deleted. A group that still drains
// is left to a later reconcile, so that no worker waits for it; at the latest the audit deletes it.
func (w Writer) RetireGroup(ctx context.Context, balancer string, have model.TargetGroup) error {
	var leaving []model.Target
	for target, state := range have.Targets {
		if state != types.TargetHealthStateEnumDraining {
			leaving = append(leaving, target)
		}
	}
	sorting.Func(leaving, func(a, b model.Target) int { return cmp.Compare(a.ID, b.ID) })
	err := w.deregister(ctx, have.ARN, leaving)
	if cloudapi.Is(err, cloudapi.NotFound) {
		w.store.DeleteGroup(have.ARN)
		return nil
	}
	if err != nil {
		return err
	}
	if len(leaving) > 0 {
		if err := w.store.ReadTargets(ctx, have.ARN); err != nil {
			return err
		}
	}
	if current, ok := w.store.Group(have.ARN); ok && current.Draining() {
		return nil
	}
	if err := w.detachGroup(ctx, balancer, have.ARN); err != nil {
		return err
	}
	return w.DeleteGroup(ctx, have.ARN)
}

// AwaitHealthy returns once a new target group can replace an old one, both by their ARNs: one of its targets is
// healthy, or the old one has no healthy target, or the wait timed out. It returns the error of a read or of ctx.
func (w Writer) AwaitHealthy(ctx context.Context, fresh, old string) error {
	s, c := w.store, w.clock
	for deadline := c.Now().Add(healthWait); c.Now().Before(deadline); {
		for _, arn := range []string{fresh, old} {
			if err := s.ReadTargets(ctx, arn); err != nil {
				return err
			}
		}
		freshGroup, freshExists := s.Group(fresh)
		oldGroup, oldExists := s.Group(old)
		if !freshExists || !oldExists || freshGroup.Healthy() > 0 || oldGroup.Healthy() == 0 {
			return nil
		}
		if err := clocks.Sleep(ctx, c, healthPoll); err != nil {
			return fmt.Errorf("waiting until targets of %s are healthy: %w", freshGroup.Name, err)
		}
	}
	return nil
}
