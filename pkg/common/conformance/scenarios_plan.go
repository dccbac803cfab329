package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
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

// planned checks the plan of a Service.
func (r *Session) planned(name string, check func(plan.Plan) error) Check {
	return func(ctx context.Context) error {
		p, err := r.Plan(ctx, name)
		if err != nil {
			return steps.Wrap("planning service "+name, err)
		}
		return steps.Wrap("the plan of service "+name, check(p))
	}
}

func noChanges(p plan.Plan) error {
	if p.Empty() {
		return nil
	}
	return fmt.Errorf("has changes, although nothing has changed: %s", strings.Join(summaries(p), "; "))
}

func creates(p plan.Plan) error {
	if slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Action == plan.Create }) {
		return nil
	}
	return fmt.Errorf("creates nothing, although nothing exists yet: %s", strings.Join(summaries(p), "; "))
}

// changesFields checks that the plan changes each of these fields.
func changesFields(fields *[]string) func(plan.Plan) error {
	return func(p plan.Plan) error {
		for _, want := range *fields {
			if !slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
				return c.Kind == want || plan.Fields(c.Fields).Has(want)
			}) {
				return fmt.Errorf("does not name %q, which was changed by hand: %s", want, strings.Join(summaries(p), "; "))
			}
		}
		return nil
	}
}

func summaries(p plan.Plan) []string {
	out := []string{}
	for _, c := range p.Changes {
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, f.Name)
		}
		out = append(out, fmt.Sprintf("%s %s %s (%s)", c.Action, c.Kind, c.Name, strings.Join(fields, ", ")))
	}
	return out
}

// drift changes one field of the Service's load balancer by hand.
func (r *Session) drift(ctx context.Context, service string) ([]string, error) {
	lb, err := r.Balancer(ctx, service)
	if err != nil {
		return nil, err
	}
	fields, err := r.World.Drift(lb.Name)
	if err == nil && len(fields) == 0 {
		err = fmt.Errorf("the world changed nothing of load balancer %s", lb.Name)
	}
	return fields, err
}
