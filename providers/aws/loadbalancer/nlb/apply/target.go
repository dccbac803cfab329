package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

const (
	// maxTargetsPerCall is the maximum number of targets in one call.
	maxTargetsPerCall = 100
	// codeInvalidTarget is AWS' error if any of the targets cannot be registered.
	codeInvalidTarget = "InvalidTarget"
	// startRetryAfter is the time until the retry of an instance that is not running yet.
	startRetryAfter = 15 * time.Second
)

// SetTargets registers targets with a target group and removes others. A target that cannot join does not prevent
// others from joining and leaving; the error has all of those.
func (w Writer) SetTargets(ctx context.Context, arn string, join, leave []model.Target) error {
	err := w.register(ctx, arn, join)
	if cloudapi.Is(err, cloudapi.Quota) && len(leave) > 0 {
		// The quota does not allow both at once. Removing first leaves fewer nodes for a moment.
		if err := w.deregister(ctx, arn, leave); err != nil {
			return err
		}
		leave, err = nil, w.register(ctx, arn, join)
	}
	// A target that cannot join must not prevent others from leaving.
	return adviseTargets(errors.Join(err, w.deregister(ctx, arn, leave)))
}

// register registers targets. AWS rejects a whole call for one bad target: register finds the bad ones, registers the
// others, and returns an error with the rejected ones.
func (w Writer) register(ctx context.Context, arn string, targets []model.Target) error {
	var rejected []string
	var errs []error
	for chunk := range slices.Chunk(targets, maxTargetsPerCall) {
		chunkRejected, err := w.registerSome(ctx, arn, chunk)
		rejected = append(rejected, chunkRejected...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(rejected) > 0 {
		errs = append(errs, &cloudapi.Error{Class: cloudapi.Conflict, Operation: "RegisterTargets",
			RetryAfter: startRetryAfter,
			Err: fmt.Errorf("AWS does not accept %s as targets, most likely because they are not running; all others "+
				"are registered, and these are retried", strings.Join(rejected, ", "))})
	}
	return errors.Join(errs...)
}

// registerSome registers a chunk and returns the targets that AWS rejects.
func (w Writer) registerSome(ctx context.Context, arn string, targets []model.Target) (rejected []string, err error) {
	_, err = w.api.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &arn,
		Targets: descriptions(targets)})
	if !awserr.Is(err, codeInvalidTarget) {
		return nil, w.finishTargets(awserr.Wrap("RegisterTargets", err), arn, targets, types.TargetHealthStateEnumInitial)
	}
	if len(targets) == 1 {
		return []string{targets[0].ID}, nil
	}
	// AWS rejects instances that are not running. If their states do not explain the error, halves are tried.
	stopped, running := w.splitStopped(ctx, targets)
	if len(stopped) == 0 || len(running) == 0 {
		first, firstErr := w.registerSome(ctx, arn, targets[:len(targets)/2])
		second, secondErr := w.registerSome(ctx, arn, targets[len(targets)/2:])
		return append(first, second...), errors.Join(firstErr, secondErr)
	}
	for _, t := range stopped {
		rejected = append(rejected, t.ID)
	}
	runningRejected, err := w.registerSome(ctx, arn, running)
	return append(rejected, runningRejected...), err
}

// splitStopped separates the targets with instances that do not run, as EC2 reports now. If EC2 does not
// answer, all count as running.
func (w Writer) splitStopped(ctx context.Context, targets []model.Target) (stopped, running []model.Target) {
	if w.instances == nil {
		return nil, targets
	}
	ids := api.Convert(targets, func(t model.Target) string { return t.ID })
	instances, err := w.instances.Described(ctx, ids, true)
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
func (w Writer) deregister(ctx context.Context, arn string, targets []model.Target) error {
	var errs []error
	for chunk := range slices.Chunk(targets, maxTargetsPerCall) {
		errs = append(errs, w.deregisterSome(ctx, arn, chunk))
	}
	return errors.Join(errs...)
}

func (w Writer) deregisterSome(ctx context.Context, arn string, targets []model.Target) error {
	_, err := w.api.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &arn,
		Targets: descriptions(targets)})
	if !awserr.Is(err, codeInvalidTarget) || len(targets) == 1 {
		if awserr.Is(err, codeInvalidTarget) {
			err = nil
		}
		return w.finishTargets(awserr.Wrap("DeregisterTargets", err), arn, targets, types.TargetHealthStateEnumDraining)
	}
	half := len(targets) / 2
	return errors.Join(w.deregisterSome(ctx, arn, targets[:half]), w.deregisterSome(ctx, arn, targets[half:]))
}

// finishTargets records targets that were registered or removed.
func (w Writer) finishTargets(err error, arn string, targets []model.Target, state types.TargetHealthStateEnum) error {
	return w.finish(err, func() { w.store.UpdateTargets(arn, targets, state) })
}

// adviseTargets adds advice about too many targets to an error.
func adviseTargets(err error) error {
	if !cloudapi.Is(err, cloudapi.Quota) {
		return err
	}
	return fmt.Errorf("there are more nodes than the load balancer may have targets; raise the quota \"Targets per "+
		"Availability Zone per Network Load Balancer\", or choose fewer nodes by labels: %w", err)
}

func descriptions(targets []model.Target) []types.TargetDescription {
	return api.Convert(targets, func(t model.Target) types.TargetDescription {
		return types.TargetDescription{Id: &t.ID, Port: &t.Port}
	})
}
