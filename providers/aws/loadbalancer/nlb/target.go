package nlb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

const (
	// targetsAtOnce is the maximum number of targets in one call.
	targetsAtOnce = 100
	// targetsShown is the maximum number that a plan lists one by one.
	targetsShown = 10
	// codeInvalidTarget is AWS' error if any of the targets cannot be registered.
	codeInvalidTarget = "InvalidTarget"
	// startTime is the time until the retry of an instance that is not running yet.
	startTime = 15 * time.Second
)

// targetsUpdate returns the registrations and deregistrations of targets, if any. Draining ones count as
// absent.
func (d *differ) targetsUpdate(g groupRef, have model.TargetGroup, want model.WantedGroup,
	after []plan.Ref) (plan.Change, bool) {
	join, leave := diffTargets(have.Targets, want.Targets)
	if len(join)+len(leave) == 0 {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref:        plan.Ref{Kind: kindTargets, Name: want.Name, Action: plan.Update},
		Fields:     []plan.Field{{Name: "targets", Before: suffix("leaving: ", leave), After: suffix("joining: ", join)}},
		After:      slices.Clone(after),
		Membership: true,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			arn, err := g.resolve(ids)
			if err != nil {
				return err
			}
			err = d.register(ctx, arn, join)
			if cloudapi.Is(err, cloudapi.Quota) && len(leave) > 0 {
				// The quota does not allow both at once. Removing first leaves fewer nodes for a moment.
				if err := d.deregister(ctx, arn, leave); err != nil {
					return err
				}
				leave, err = nil, d.register(ctx, arn, join)
			}
			// A target that cannot join must not prevent others from leaving.
			return adviseTargets(errors.Join(err, d.deregister(ctx, arn, leave)))
		},
	}, true
}

// diffTargets returns which targets to register and which to remove, sorted.
func diffTargets(have model.Health, want []model.WantedTarget) (join, leave []model.Target) {
	keep := make(map[model.Target]bool, len(want))
	for _, w := range want {
		keep[w.Target] = true
		if state, ok := have[w.Target]; !w.Keep && (!ok || state == types.TargetHealthStateEnumDraining) {
			join = append(join, w.Target)
		}
	}
	for target, state := range have {
		if !keep[target] && state != types.TargetHealthStateEnumDraining {
			leave = append(leave, target)
		}
	}
	for _, list := range [][]model.Target{join, leave} {
		sorting.Func(list, func(a, b model.Target) int { return strings.Compare(a.ID, b.ID) })
	}
	return join, leave
}

// register registers targets. AWS rejects a whole call for one bad target: it finds those, registers the
// others, and returns an error with the bad ones.
func (d *differ) register(ctx context.Context, arn string, targets []model.Target) error {
	var refused []string
	var errs []error
	for chunk := range slices.Chunk(targets, targetsAtOnce) {
		bad, err := d.registerSome(ctx, arn, chunk)
		refused = append(refused, bad...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(refused) > 0 {
		errs = append(errs, &cloudapi.Error{Class: cloudapi.Conflict, Operation: "RegisterTargets", RetryAfter: startTime,
			Err: fmt.Errorf("AWS does not take %s as targets, most likely because they are not running; all others are "+
				"registered, and these are tried again", strings.Join(refused, ", "))})
	}
	return errors.Join(errs...)
}

// registerSome registers a chunk and returns the targets that AWS rejects.
func (d *differ) registerSome(ctx context.Context, arn string, targets []model.Target) (refused []string, err error) {
	_, err = d.cloud.options.API.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &arn,
		Targets: descriptions(targets)})
	if !awserr.Is(err, codeInvalidTarget) {
		return nil, d.wroteTargets(awserr.Wrap("RegisterTargets", err), arn, targets, types.TargetHealthStateEnumInitial)
	}
	if len(targets) == 1 {
		return []string{targets[0].ID}, nil
	}
	// AWS rejects instances that are not running. If their states do not explain the error, halves are tried.
	stopped, running := d.splitStopped(ctx, targets)
	if len(stopped) == 0 || len(running) == 0 {
		bad, err := d.registerSome(ctx, arn, targets[:len(targets)/2])
		more, otherErr := d.registerSome(ctx, arn, targets[len(targets)/2:])
		return append(bad, more...), errors.Join(err, otherErr)
	}
	for _, t := range stopped {
		refused = append(refused, t.ID)
	}
	more, err := d.registerSome(ctx, arn, running)
	return append(refused, more...), err
}

// splitStopped separates the targets with instances that do not run, as EC2 reports now. If EC2 does not
// answer, all count as running.
func (d *differ) splitStopped(ctx context.Context, targets []model.Target) (stopped, running []model.Target) {
	if d.cloud.options.Instances == nil {
		return nil, targets
	}
	ids := make([]string, len(targets))
	for i, t := range targets {
		ids[i] = t.ID
	}
	instances, err := d.cloud.options.Instances.Described(ctx, ids, true)
	if err != nil {
		return nil, targets
	}
	for _, t := range targets {
		i, exists := instances[t.ID]
		if !exists || i.State != nil && i.State.Name != ec2types.InstanceStateNameRunning {
			stopped = append(stopped, t)
		} else {
			running = append(running, t)
		}
	}
	return stopped, running
}

// deregister removes targets. An unknown one counts as removed.
func (d *differ) deregister(ctx context.Context, arn string, targets []model.Target) error {
	var errs []error
	for chunk := range slices.Chunk(targets, targetsAtOnce) {
		errs = append(errs, d.deregisterSome(ctx, arn, chunk))
	}
	return errors.Join(errs...)
}

func (d *differ) deregisterSome(ctx context.Context, arn string, targets []model.Target) error {
	_, err := d.cloud.options.API.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &arn,
		Targets: descriptions(targets)})
	if !awserr.Is(err, codeInvalidTarget) || len(targets) == 1 {
		if awserr.Is(err, codeInvalidTarget) {
			err = nil
		}
		return d.wroteTargets(awserr.Wrap("DeregisterTargets", err), arn, targets, types.TargetHealthStateEnumDraining)
	}
	half := len(targets) / 2
	return errors.Join(d.deregisterSome(ctx, arn, targets[:half]), d.deregisterSome(ctx, arn, targets[half:]))
}

// wroteTargets records targets that were registered or removed.
func (d *differ) wroteTargets(err error, arn string, targets []model.Target, state types.TargetHealthStateEnum) error {
	return d.wrote(err, func(s *observe.Store) { s.UpdateTargets(arn, targets, state) })
}

// adviseTargets adds advice about too many targets to an error.
func adviseTargets(err error) error {
	if !cloudapi.Is(err, cloudapi.Quota) {
		return err
	}
	return fmt.Errorf("there are more nodes than the load balancer may have targets; raise the quota \"Targets per "+
		"Availability Zone per Network Load Balancer\", "+
		"or choose fewer nodes by labels: %w", err)
}

func descriptions(targets []model.Target) []types.TargetDescription {
	out := make([]types.TargetDescription, len(targets))
	for i, t := range targets {
		out[i] = types.TargetDescription{Id: aws.String(t.ID), Port: aws.Int32(t.Port)}
	}
	return out
}

// suffix formats targets after a label: one by one, or counted if there are many.
func suffix(label string, targets []model.Target) string {
	if len(targets) == 0 {
		return ""
	}
	if len(targets) > targetsShown {
		return fmt.Sprintf("%s%d targets", label, len(targets))
	}
	var shown []string
	for _, t := range targets {
		shown = append(shown, fmt.Sprintf("%s:%d", t.ID, t.Port))
	}
	return label + strings.Join(shown, ", ")
}
