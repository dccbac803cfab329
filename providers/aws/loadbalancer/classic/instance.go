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
		Step:       instancesRegistration{ids},
	}
}

// instancesRegistration registers instances.
type instancesRegistration struct{ ids []string }

// Do implements plan.Step.
func (s instancesRegistration) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	requested := s.ids
	registered, err := w.registerOnce(ctx, requested)
	if awserr.Is(err, codeNoSuchInstance) {
		// One of them was terminated since it was last read, and AWS has registered none.
		if existing := w.runningInstances(ctx, s.ids); len(existing) > 0 && len(existing) < len(s.ids) {
			requested = existing
			registered, err = w.registerOnce(ctx, requested)
		}
	}
	return w.recordInstances(err, registered, len(difference(requested, registered)) == 0)
}

func (w writer) registerOnce(ctx context.Context, ids []string) ([]string, error) {
	out, err := w.api.RegisterInstancesWithLoadBalancer(ctx,
		&elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: &w.name, Instances: toInstances(ids)})
	if err != nil {
		return nil, awserr.Wrap("RegisterInstancesWithLoadBalancer", err)
	}
	return fromInstances(out.Instances), nil
}

// runningInstances reads from EC2 which instances can be registered; nil if EC2 does not answer.
func (w writer) runningInstances(ctx context.Context, ids []string) []string {
	if w.instances == nil {
		return nil
	}
	known, err := w.instances.Described(ctx, ids, true)
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
		Step:       instancesDeregistration{ids},
	}
}

// instancesDeregistration deregisters instances.
type instancesDeregistration struct{ ids []string }

// Do implements plan.Step.
func (s instancesDeregistration) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	registered, err := w.deregisterOnce(ctx, s.ids)
	if awserr.Is(err, codeNoSuchInstance) {
		// Terminated instances are deregistered automatically, and AWS has removed none of the others.
		have, readErr := w.store.read(ctx, w.name, shallow)
		switch {
		case readErr != nil:
			err = fmt.Errorf("%w; reading it failed: %w", err, readErr)
		case have == nil || len(intersection(s.ids, have.Instances)) == 0:
			return nil
		default:
			registered, err = w.deregisterOnce(ctx, intersection(s.ids, have.Instances))
		}
	}
	return w.recordInstances(err, registered, len(intersection(s.ids, registered)) == 0)
}

func (w writer) deregisterOnce(ctx context.Context, ids []string) ([]string, error) {
	out, err := w.api.DeregisterInstancesFromLoadBalancer(ctx,
		&elb.DeregisterInstancesFromLoadBalancerInput{LoadBalancerName: &w.name, Instances: toInstances(ids)})
	if err != nil {
		return nil, awserr.Wrap("DeregisterInstancesFromLoadBalancer", err)
	}
	return fromInstances(out.Instances), nil
}

// recordInstances records which instances the response to a write lists. AWS documents that these are all that are
// registered after the write. If they contradict the write, the load balancer has to be read again: such a response
// would keep instances registered, or leave them out, until the next audit.
func (w writer) recordInstances(err error, listed []string, consistent bool) error {
	return w.finish(err, func(s *store) {
		if !consistent || slices.Contains(listed, "") {
			s.state.MarkUncertain(w.name)
			return
		}
		s.balancers.Update(w.name, func(b *Balancer) { b.Instances = listed })
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
