package classic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const kindInstances = "instances"

// instancesShown is the maximum number of instances that a plan lists one by one.
const instancesShown = 10

// codeNoSuchInstance is the error for registering an instance that does not exist, and for deregistering one
// that is not registered.
const codeNoSuchInstance = "InvalidInstance"

// diffInstances plans the registered instances. They are added before others are removed. Those of a zone without a
// subnet are added once it has one: until then they are the cause for its subnet, and receive no traffic.
func (d *differ) diffInstances(have, toRegister []string) {
	toDeregister := difference(difference(have, d.want.Instances), d.want.Unread)
	var served, waiting []string
	for _, id := range toRegister {
		if hasZone(d.newZones, d.want.Zones, d.want.InstanceZones[id]) {
			waiting = append(waiting, id)
		} else {
			served = append(served, id)
		}
	}
	var after []plan.Ref
	if len(served) > 0 {
		change := d.instancesRegister(d.name, served)
		d.add(change)
		after = append(after, change.Ref)
	}
	if len(waiting) > 0 {
		change := d.instancesRegister(d.name+", new zones", waiting)
		change.After = d.attached
		d.add(change)
		after = append(after, change.Ref)
	}
	if len(toDeregister) > 0 {
		d.add(d.instancesDeregister(toDeregister, after))
	}
}

func (d *differ) instancesRegister(name string, ids []string) plan.Change {
	return plan.Change{
		Ref:        plan.Ref{Kind: kindInstances, Name: name, Action: plan.Create},
		Fields:     []plan.Field{{Name: "instances", After: showInstances(ids)}},
		Membership: true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			requested := ids
			registered, err := d.registerOnce(ctx, requested)
			if awserr.Is(err, codeNoSuchInstance) {
				// One of them was terminated since it was last read, and AWS has registered none.
				if existing := d.runningInstances(ctx, ids); len(existing) > 0 && len(existing) < len(ids) {
					requested = existing
					registered, err = d.registerOnce(ctx, requested)
				}
			}
			return d.recordInstances(err, registered, len(difference(requested, registered)) == 0)
		},
	}
}

func (d *differ) registerOnce(ctx context.Context, ids []string) ([]string, error) {
	out, err := d.cloud.options.API.RegisterInstancesWithLoadBalancer(ctx,
		&elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: &d.name, Instances: toInstances(ids)})
	if err != nil {
		return nil, awserr.Wrap("RegisterInstancesWithLoadBalancer", err)
	}
	return fromInstances(out.Instances), nil
}

// runningInstances reads from EC2 which instances can be registered; nil if EC2 does not answer.
func (d *differ) runningInstances(ctx context.Context, ids []string) []string {
	if d.cloud.options.Instances == nil {
		return nil
	}
	known, err := d.cloud.options.Instances.Described(ctx, ids, true)
	if err != nil {
		return nil // The refusal itself is reported.
	}
	return filterRegistrable(ids, known)
}

func (d *differ) instancesDeregister(ids []string, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:        plan.Ref{Kind: kindInstances, Name: d.name, Action: plan.Delete},
		Fields:     []plan.Field{{Name: "instances", Before: showInstances(ids)}},
		After:      after,
		Membership: true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			registered, err := d.deregisterOnce(ctx, ids)
			if awserr.Is(err, codeNoSuchInstance) {
				// Terminated instances are deregistered automatically, and AWS has removed none of the others.
				have, readErr := d.cloud.store.read(ctx, d.name, shallow)
				switch {
				case readErr != nil:
					err = fmt.Errorf("%w; reading it failed: %w", err, readErr)
				case have == nil || len(intersection(ids, have.Instances)) == 0:
					return nil
				default:
					registered, err = d.deregisterOnce(ctx, intersection(ids, have.Instances))
				}
			}
			return d.recordInstances(err, registered, len(intersection(ids, registered)) == 0)
		},
	}
}

func (d *differ) deregisterOnce(ctx context.Context, ids []string) ([]string, error) {
	out, err := d.cloud.options.API.DeregisterInstancesFromLoadBalancer(ctx,
		&elb.DeregisterInstancesFromLoadBalancerInput{LoadBalancerName: &d.name, Instances: toInstances(ids)})
	if err != nil {
		return nil, awserr.Wrap("DeregisterInstancesFromLoadBalancer", err)
	}
	return fromInstances(out.Instances), nil
}

// recordInstances records which instances the response to a write lists. AWS documents that these are all that are
// registered after the write. If they contradict the write, the load balancer has to be read again: such a response
// would keep instances registered, or leave them out, until the next audit.
func (d *differ) recordInstances(err error, listed []string, consistent bool) error {
	return d.finish(err, func(s *store) {
		if !consistent || slices.Contains(listed, "") {
			s.state.MarkUncertain(d.name)
			return
		}
		s.balancers.Update(d.name, func(b *Balancer) { b.Instances = listed })
	})
}

// difference returns the items that are not among others, sorted.
func difference(items, others []string) []string {
	return sets.List(sets.New(items...).Difference(sets.New(others...)))
}

// intersection returns the items that are among others, sorted.
func intersection(items, others []string) []string {
	return sets.List(sets.New(items...).Intersection(sets.New(others...)))
}

func showInstances(ids []string) string {
	if len(ids) > instancesShown {
		return fmt.Sprintf("%d instances", len(ids))
	}
	return strings.Join(ids, ", ")
}

// filterRegistrable returns the instances that can be registered, sorted: AWS rejects a whole request for a terminated
// one.
func filterRegistrable(ids []string, known map[string]*ec2types.Instance) []string {
	runningIDs := make([]string, 0, len(ids))
	for _, id := range ids {
		instance, ok := known[id]
		if !ok {
			continue
		}
		if s := instance.State; s != nil && (s.Name == ec2types.InstanceStateNameTerminated ||
			s.Name == ec2types.InstanceStateNameShuttingDown) {
			continue
		}
		runningIDs = append(runningIDs, id)
	}
	slices.Sort(runningIDs)
	return slices.Compact(runningIDs)
}
