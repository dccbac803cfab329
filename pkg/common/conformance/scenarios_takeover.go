package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// takenOver lets another manager create the load balancers, while this one runs with --dry-run, and takes them over.
func takenOver(ctx context.Context, r *Session) error {
	web, api := loadBalancerService("web", 80, 443), loadBalancerService("api", 8443)
	if r.TakeOver == nil {
		return r.change(ctx, web) // nothing can be taken over
	}
	return steps.Run(
		func() error { return r.Converge(ctx) }, // nodes have provider IDs
		func() error { return r.Restart(ctx, ManagerOptions{DryRun: true}) },
		func() error { return r.createByOther(ctx, web) },
		func() error { return r.createByOther(ctx, api) },
		func() error { return r.takeOverDuringChanges(ctx) },
		func() error { return r.takeOverFailed(ctx, web) },
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
		func() error { return r.Terminate(ctx, "node-1", true) },
		func() error { return r.Converge(ctx) },
		func() error { return r.approveAfterTakeOver(ctx, web) },
		func() error { return r.changeApproved(ctx, api, 9443) },
	)
}

// createByOther adds a Service with what the other manager creates for it, and writes to it.
func (r *Session) createByOther(ctx context.Context, svc *v1.Service) error {
	if err := r.Put(ctx, svc); err != nil {
		return err
	}
	live, err := r.Cluster.Service(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return err
	}
	var nodes []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(r.machines)) {
		node, err := r.Cluster.Node(ctx, name)
		if err != nil {
			return err
		}
		nodes = append(nodes, node)
	}
	written, err := r.TakeOver.Create(ctx, r.World, live, nodes)
	if err != nil {
		return steps.Wrap("creating what another manager leaves", err)
	}
	maps.Copy(svc.Annotations, written.Annotations)
	if err := r.Put(ctx, svc); err != nil {
		return err
	}
	return r.Cluster.SetServiceStatus(ctx, svc.Namespace, svc.Name, v1.ServiceStatus{LoadBalancer: written.Status})
}

// takeOverDuringChanges takes the load balancers over while subnets, networks, configuration or the readability of the
// cluster UID change. Nothing is written.
func (r *Session) takeOverDuringChanges(ctx context.Context) error {
	restart := func(name string, o ManagerOptions) func() error {
		return func() error {
			unchanged, checkReads := r.Unchanged(), r.checkReads(ctx)
			return steps.Wrap(name, steps.Run(
				func() error { return r.Restart(ctx, o) },
				checkReads,
				func() error { return r.Converge(ctx, unchanged) },
			))
		}
	}
	waitForDeferred := func() error { // until what a manager defers is written
		unchanged := r.Unchanged()
		if err := r.skipTime(ctx, idleDelay); err != nil {
			return err
		}
		return steps.Wrap("minutes later", unchanged(ctx))
	}
	return steps.Run(
		restart("taking over", ManagerOptions{}),
		waitForDeferred,
		r.discover,
		restart("with new subnets and networks", ManagerOptions{}),
		restart("with another configuration", ManagerOptions{OtherDefaults: true}),
		restart("again", ManagerOptions{}),
	)
}

const (
	// firstSync is longer than the first sync of all Services, and shorter than the period of any controller.
	firstSync = 10 * time.Second
	// defaultReads is the number of calls of the first sync for each load balancer: the members of two ports.
	defaultReads = 2
)

// checkReads returns a check of the calls of the first sync after now: each call once, as the list of one kind of
// objects, and some more for each load balancer. With faults, and where a driver cannot skip time, it succeeds.
func (r *Session) checkReads(ctx context.Context) func() error {
	log := r.World.Front().Log()
	before := log.Len()
	return func() error {
		if _, ok := r.Cluster.(TimeSkipper); !ok || r.faults {
			return nil
		}
		if err := r.skipTime(ctx, firstSync); err != nil {
			return err
		}
		counts := map[string]int{}
		repeated := 0
		for _, call := range log.Calls()[before:] {
			if call.Status == 0 {
				continue // of the manager before, which ended while it waited for the response
			}
			if counts[call.Name]++; counts[call.Name] > 1 {
				repeated++
			}
		}
		allowed := cmp.Or(r.TakeOver.ReadsPerLoadBalancer, defaultReads) * len(r.World.LoadBalancers())
		if repeated > allowed {
			return fmt.Errorf("the first sync makes %d calls beside one of each kind, want at most %d: %v", repeated, allowed,
				counts)
		}
		return nil
	}
}

// takeOverFailed takes over a load balancer in a failed state: what would recover it is held.
func (r *Session) takeOverFailed(ctx context.Context, svc *v1.Service) error {
	if r.TakeOver.SetFailed == nil {
		return nil
	}
	lb, err := r.Balancer(ctx, svc.Name)
	if err != nil {
		return err
	}
	if err := r.TakeOver.SetFailed(r.World, lb.Name, true); err != nil {
		return err
	}
	unchanged := r.Unchanged()
	if err := r.Restart(ctx, ManagerOptions{}); err != nil {
		return err
	}
	err = r.Settled(ctx, unchanged, r.keeps(svc.Name, &lb), r.warned(svc.Name, events.LoadBalancerChangesHeld.String()))
	if err != nil {
		return steps.Wrap("in a failed state", err)
	}
	if err := r.TakeOver.SetFailed(r.World, lb.Name, false); err != nil {
		return err
	}
	return r.Restart(ctx, ManagerOptions{})
}

// approveAfterTakeOver changes a Service while all disruption is held. An approval of another plan changes nothing.
func (r *Session) approveAfterTakeOver(ctx context.Context, svc *v1.Service) error {
	svc.Spec.Ports = svc.Spec.Ports[:1]
	put := func(approval string) func() error {
		return func() error {
			svc.Annotations[intent.KeyApprove] = approval
			return r.Put(ctx, svc)
		}
	}
	held := func() error {
		return r.Settled(ctx, r.listens(svc.Name, 80, 443), r.planned(svc.Name, holds))
	}
	return steps.Run(
		func() error { return r.Restart(ctx, ManagerOptions{Disruption: provider.HoldAllDisruption}) },
		func() error { return r.Put(ctx, svc) }, held,
		put("another"), held,
		func() error {
			p, err := r.Plan(ctx, svc.Name)
			if err != nil {
				return err
			}
			return put(p.HeldID)()
		},
		func() error { return r.Converge(ctx) },
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		func() error { return r.Converge(ctx) },
	)
}
