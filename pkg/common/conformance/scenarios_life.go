package conformance

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
)

// lifeScenarios are about restarts of the manager and load balancers that other clients delete.
func lifeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "restart", Needs: needsInstances, Teardown: true,
			Doc: "A manager that starts on a converged cluster makes no mutating call.",
			Steps: func(ctx context.Context, r *Session) error {
				if err := r.populate(ctx); err != nil {
					return err
				}
				// After a start that a fault delays, it would write records that its predecessor had no time for.
				if err := r.skipTime(ctx, idleDelay); err != nil {
					return err
				}
				unchanged := r.Unchanged()
				if err := r.Restart(ctx, ManagerOptions{}); err != nil {
					return err
				}
				return r.Converge(ctx, unchanged)
			},
		},
		{
			Name: "changed while away", Needs: needsBalancer,
			Doc: "A new manager applies changes that were made while no manager ran.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.Put(ctx, loadBalancerService("web", 80)) },
					func() error { return r.change(ctx, loadBalancerService("api", 443)) },
					func() error { return r.Delete(ctx, "api") },
					func() error { return r.Put(ctx, loadBalancerService("web", 80, 8080)) },
					func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Converge(ctx, r.deleted("api")) },
				)
			}),
		},
		{
			Name: "load balancer deleted behind our back", Needs: needsBalancer,
			Doc: "A load balancer that another client deleted is recreated, and its orphans are used or removed.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() error { return r.deleteBalancer(ctx, "web") },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Converge(ctx) },
				)
			}),
		},
		{
			Name: "Service deleted after its load balancer", Needs: needsBalancer,
			Doc: "Deleting a Service after another client deleted its load balancer removes the orphans too.",
			Steps: withNodes(1, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() error { return r.deleteBalancer(ctx, "web") },
					func() error { return r.Delete(ctx, "web") },
					func() error { return r.Converge(ctx, r.deleted("web")) },
				)
			}),
		},
	}
}

// populate creates a small cluster with every kind of object that the subject supports.
func (r *Session) populate(ctx context.Context) error {
	if err := r.JoinN(ctx, 3); err != nil {
		return err
	}
	if r.Capabilities.LoadBalancer {
		err := steps.Run(
			func() error { return r.Put(ctx, loadBalancerService("web", 80, 443)) },
			func() error { return r.Put(ctx, makeInternal(loadBalancerService("db", 5432))) },
			func() error {
				return r.Put(ctx, withSourceRanges(loadBalancerService("admin", 8443), "203.0.113.0/24"))
			},
		)
		if err != nil {
			return err
		}
	}
	return r.Converge(ctx)
}

// deleteBalancer deletes the Service's load balancer in the cloud.
func (r *Session) deleteBalancer(ctx context.Context, service string) error {
	lb, err := r.Balancer(ctx, service)
	if err != nil {
		return err
	}
	if err := r.World.DeleteLoadBalancer(lb.Name); err != nil {
		return fmt.Errorf("deleting load balancer %s behind the manager's back: %w", lb.Name, err)
	}
	return nil
}
