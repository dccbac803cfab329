package conformance

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// ruleScenarios are about load balancers that stay while changes of their Service or of shared state are not applied.
func ruleScenarios() []Scenario {
	return []Scenario{
		{
			Name: "Service becomes invalid", Needs: needsBalancer,
			Doc: "A Service that becomes invalid keeps its load balancer, and nodes join and leave it, also after a restart.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				var before LoadBalancer
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80, 443)) },
					func() (err error) { before, err = r.Balancer(ctx, "web"); return err },
					func() error { return r.Put(ctx, makeInvalid(loadBalancerService("web", 80, 443))) },
					func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
					func() error { return r.Converge(ctx, r.keeps("web", &before), r.warned("web", intent.KeyScheme)) },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Join(ctx, Machine{Name: "node-4"}) },
					func() error { return r.Terminate(ctx, "node-1", true) },
					func() error { return r.Converge(ctx, r.keeps("web", &before)) },
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
				)
			}),
		},
		{
			Name: "held changes", Needs: needsBalancer,
			Doc:   "Held changes wait for an approval of exactly these, or for another policy; members follow meanwhile.",
			Steps: withNodes(2, heldChanges),
		},
		{
			Name: "edit beside a held change", Needs: needsBalancer,
			Doc: "An edit that no manager saw is held. A later edit of something else releases nothing of it, and is " +
				"applied itself.",
			Steps: withNodes(2, editBesideHeldChange),
		},
		{
			Name: "load balancer taken over", Needs: needsBalancer,
			Doc: "Load balancers of another manager are taken over without a mutating call, whatever changes around them; " +
				"members follow, and an edit of the Service is applied.",
			Steps: withNodes(2, takenOver),
		},
	}
}

func heldChanges(ctx context.Context, r *Session) error {
	policy := func(p provider.DisruptionPolicy) func() error {
		return func() error { return r.Restart(ctx, ManagerOptions{Disruption: p}) }
	}
	put := func(port int32, approval string) func() error {
		svc := loadBalancerService("web", port)
		if approval != "" {
			svc.Annotations[intent.KeyApprove] = approval
		}
		return func() error { return r.Put(ctx, svc) }
	}
	held := func(ports ...int32) func() error {
		return func() error {
			return r.Settled(ctx, r.listens("web", ports...), r.planned("web", holds),
				r.warned("web", events.LoadBalancerChangesHeld.String()))
		}
	}
	converge := func() error { return r.Converge(ctx) }
	return steps.Run(
		func() error { return r.change(ctx, loadBalancerService("web", 80, 443)) },
		policy(provider.HoldAllDisruption),
		put(80, ""), held(80, 443),
		func() error { return r.Put(ctx, loadBalancerService("api", 8443)) },
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
		held(80, 443),
		put(80, "another"), held(80, 443),
		func() error {
			p, err := r.Plan(ctx, "web")
			if err != nil {
				return err
			}
			return put(80, p.HeldID)()
		},
		converge,
		put(8080, ""), held(80, 8080), policy(provider.AllowDisruption), converge,
		policy(provider.HoldAllDisruption), put(80, ""), held(80, 8080), policy(provider.HoldDisruption), converge,
	)
}

// editBesideHeldChange removes a port while no manager watches and no history is left, and then adds another one.
func editBesideHeldChange(ctx context.Context, r *Session) error {
	put := func(ports ...int32) func() error {
		return func() error { return r.Put(ctx, loadBalancerService("web", ports...)) }
	}
	held := func(ports ...int32) func() error {
		return func() error { return r.Settled(ctx, r.listens("web", ports...), r.planned("web", holds)) }
	}
	return steps.Run(
		func() error { return r.change(ctx, loadBalancerService("web", 80, 443)) },
		func() error { return r.Restart(ctx, ManagerOptions{DryRun: true}) },
		func() error { return r.removeHistory(ctx, "web") },
		put(80),
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		held(80, 443),
		put(80, 8443), held(80, 443, 8443),
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
		held(80, 443, 8443),
		func() error { return r.changeApproved(ctx, loadBalancerService("web"), 80, 8443) },
	)
}
