package conformance

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
)

func planScenarios() []Scenario {
	return []Scenario{
		{
			Name: "plan of a converged Service", Needs: needsBalancer,
			Doc: "A plan for a converged Service is empty, and planning changes nothing.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				if err := r.change(ctx, withSourceRanges(loadBalancerService("web", 80, 443), "203.0.113.0/24")); err != nil {
					return err
				}
				untouched := r.Unchanged()
				if err := r.Settled(ctx, r.planned("web", noChanges)); err != nil {
					return err
				}
				return untouched(ctx)
			}),
		},
		{
			Name: "drift", Needs: needsBalancer,
			Doc: "A plan names the field that was changed by hand; the next manager corrects it.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				var fields []string
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() (err error) { fields, err = r.drift(ctx, "web"); return err },
					// Without Settled: a manager that starts in the meantime corrects the drift.
					func() error { return r.planned("web", changesFields(&fields))(ctx) },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Converge(ctx, r.planned("web", noChanges)) },
				)
			}),
		},
		{
			Name: "dry run", Needs: needsBalancer,
			Doc: "A manager with --dry-run makes no mutating call, does not change nodes, and its plan shows what is missing.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				if err := r.change(ctx, loadBalancerService("web", 80)); err != nil {
					return err
				}
				if err := r.Restart(ctx, ManagerOptions{DryRun: true}); err != nil {
					return err
				}
				untouched := r.Unchanged()
				return steps.Run(
					func() error { return r.Put(ctx, loadBalancerService("web", 80, 443)) },
					func() error { return r.Put(ctx, loadBalancerService("api", 443)) },
					func() error { return r.Settled(ctx, untouched, r.planned("api", creates)) },
					func() error { return r.Delete(ctx, "web") },
					func() error { return r.Settled(ctx, untouched) },
				)
			}),
		},
	}
}
