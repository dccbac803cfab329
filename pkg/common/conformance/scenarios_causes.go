package conformance

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// causeScenarios are about what is no cause of a disruption, although it looks like one.
func causeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "hand-made change beside an edit", Needs: needsBalancer,
			Doc: "While a change is held, the configuration changes, someone changes the load balancer by hand, and the " +
				"Service is edited: the hand-made change is put back, the edit is applied, and the held change stays held.",
			Steps: withNodes(2, handMadeChangeBesideEdit),
		},
		{
			Name: "edits during another manager", Needs: needsBalancer, SkipsTime: true,
			Doc: "What was edited while another manager was leading is only seen: it is held until it is approved, and an " +
				"approval is used once, also where it stays on the Service.",
			Steps: withNodes(2, editsDuringAnotherManager),
		},
		{
			Name: "restored cluster", Needs: needsBalancer,
			Doc:   "A Service that a restored cluster brings back in an older form, with its status, takes nothing away.",
			Steps: withNodes(2, restoredCluster),
		},
		{
			Name: "history of another Service", Needs: needsBalancer,
			Doc:   "The status of another Service is no cause of a disruption.",
			Steps: withNodes(2, historyOfAnotherService),
		},
		{
			Name: "two edits at once", Needs: needsBalancer,
			Doc: "Two disruptive edits of a Service, one of which is edited back before it may have been applied, end as the " +
				"Service is then.",
			Steps: withNodes(2, twoEditsAtOnce),
		},
		{
			Name: "hold-all is taken back", Needs: needsBalancer,
			Doc: "While every disruption is held, an edit is remembered, also by the next manager: it is applied once the " +
				"policy allows it, and what no edit has caused stays held.",
			Steps: withNodes(2, holdAllIsTakenBack),
		},
	}
}

// put returns a step that gives a Service these ports.
func (r *Session) put(ctx context.Context, name string, ports ...int32) func() error {
	return func() error { return r.Put(ctx, loadBalancerService(name, ports...)) }
}

// finished returns a step that puts a Service and waits for the end of its plan. A real cloud may take longer for one
// change than Settle waits for the next: a manager that is stopped before leaves an unfinished edit to the next one.
func (r *Session) finished(ctx context.Context, svc *v1.Service) func() error {
	return func() error {
		if err := r.Put(ctx, svc); err != nil {
			return err
		}
		return r.Converge(ctx, r.planned(svc.Name, noChanges))
	}
}

// restart returns a step that starts another manager.
func (r *Session) restart(ctx context.Context, o ManagerOptions) func() error {
	return func() error { return r.Restart(ctx, o) }
}

// held returns a step that checks that a Service has these ports, and that all other changes of it are held.
func (r *Session) held(ctx context.Context, name string, ports ...int32) func() error {
	return func() error { return r.Settled(ctx, r.listens(name, ports...), r.planned(name, holds)) }
}

// unseen returns a step that edits a Service while no manager watches, and leaves it without a history.
func (r *Session) unseen(ctx context.Context, name string, ports ...int32) func() error {
	return func() error {
		return steps.Run(
			r.restart(ctx, ManagerOptions{DryRun: true}),
			func() error { return r.removeHistory(ctx, name) },
			r.put(ctx, name, ports...),
		)
	}
}

func handMadeChangeBesideEdit(ctx context.Context, r *Session) error {
	other := ManagerOptions{OtherDefaults: true}
	var before plan.Plan
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80)), // the first port is changed by hand
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		r.unseen(ctx, "web", 80),
		r.restart(ctx, other), r.held(ctx, "web", 80, 443),
		func() (err error) { before, err = r.Plan(ctx, "web"); return err },
		r.restart(ctx, ManagerOptions{DryRun: true, OtherDefaults: true}),
		func() error { _, err := r.drift(ctx, "web"); return err },
		r.put(ctx, "web", 80, 8443),
		r.restart(ctx, other), r.held(ctx, "web", 80, 443, 8443),
		func() error { return r.planned("web", holdsNoMore(&before))(ctx) },
		r.restart(ctx, ManagerOptions{}), // without what the other configuration would move
		func() error { return r.changeApproved(ctx, loadBalancerService("web"), 80, 8443) },
	)
}

// holdsNoMore checks that a plan holds only what an earlier one has held.
func holdsNoMore(before *plan.Plan) func(plan.Plan) error {
	return func(p plan.Plan) error {
		for _, d := range p.Differences() {
			if !slices.ContainsFunc(before.Differences(), d.Same) {
				return fmt.Errorf("holds %s, which was changed by hand", d)
			}
		}
		return nil
	}
}

// otherLeads returns a step that edits a Service while another manager leads.
func (r *Session) otherLeads(ctx context.Context, svc *v1.Service) func() error {
	return func() error {
		return steps.Run(
			r.restart(ctx, ManagerOptions{DryRun: true}),
			func() error { r.leaders++; return r.Put(ctx, svc) },
			r.restart(ctx, ManagerOptions{}),
		)
	}
}

func editsDuringAnotherManager(ctx context.Context, r *Session) error {
	approved := loadBalancerService("web", 80)
	again := loadBalancerService("web", 80, 443)
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		r.otherLeads(ctx, loadBalancerService("web", 80)), r.held(ctx, "web", 80, 443),
		func() error {
			p, err := r.Plan(ctx, "web")
			approved.Annotations[intent.KeyApprove] = p.HeldID
			again.Annotations[intent.KeyApprove] = p.HeldID
			return err
		},
		r.finished(ctx, approved),
		r.finished(ctx, again), // as a tool that keeps the annotation does
		r.otherLeads(ctx, approved), r.held(ctx, "web", 80, 443),
		func() error { return r.changeApproved(ctx, loadBalancerService("web"), 80) },
	)
}

func restoredCluster(ctx context.Context, r *Session) error {
	var backup *v1.Service
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80)),
		func() (err error) { backup, err = r.Cluster.Service(ctx, Namespace, "web"); return err },
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		r.restart(ctx, ManagerOptions{DryRun: true}),
		func() error { return r.Cluster.SetServiceStatus(ctx, Namespace, "web", backup.Status) },
		r.put(ctx, "web", 80),
		r.restart(ctx, ManagerOptions{}), r.held(ctx, "web", 80, 443),
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) }, r.held(ctx, "web", 80, 443),
		func() error { return r.changeApproved(ctx, loadBalancerService("web"), 80) },
	)
}

func historyOfAnotherService(ctx context.Context, r *Session) error {
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		r.finished(ctx, loadBalancerService("api", 80, 443)),
		r.restart(ctx, ManagerOptions{DryRun: true}),
		func() error { return r.copyHistory(ctx, "web", "api") },
		r.put(ctx, "api", 80),
		r.restart(ctx, ManagerOptions{}), r.held(ctx, "api", 80, 443),
		func() error { return r.changeApproved(ctx, loadBalancerService("api"), 80) },
	)
}

// copyHistory gives a Service the conditions of another one, and leaves it its addresses.
func (r *Session) copyHistory(ctx context.Context, from, to string) error {
	source, err := r.Cluster.Service(ctx, Namespace, from)
	if err != nil {
		return err
	}
	target, err := r.Cluster.Service(ctx, Namespace, to)
	if err != nil {
		return err
	}
	return r.Cluster.SetServiceStatus(ctx, Namespace, to, v1.ServiceStatus{
		LoadBalancer: target.Status.LoadBalancer, Conditions: slices.Clone(source.Status.Conditions),
	})
}

func twoEditsAtOnce(ctx context.Context, r *Session) error {
	edited := withSourceRanges(loadBalancerService("web", 80), "203.0.113.0/24")
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		func() error { return r.Put(ctx, edited) },
		func() error { return r.Settled(ctx) },
		r.finished(ctx, withSourceRanges(loadBalancerService("web", 80, 443), "203.0.113.0/24")),
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		r.finished(ctx, loadBalancerService("web", 80)),
	)
}

func holdAllIsTakenBack(ctx context.Context, r *Session) error {
	ranges := func(ports ...int32) *v1.Service {
		return withSourceRanges(loadBalancerService("web", ports...), "203.0.113.0/24")
	}
	holdAll := r.restart(ctx, ManagerOptions{Disruption: provider.HoldAllDisruption})
	put := func(ports ...int32) func() error { return func() error { return r.Put(ctx, ranges(ports...)) } }
	return steps.Run(
		r.finished(ctx, loadBalancerService("web", 80, 443)),
		r.unseen(ctx, "web", 80, 443), put(80, 443), // the ranges are no edit
		holdAll, r.held(ctx, "web", 80, 443),
		put(80), r.held(ctx, "web", 80, 443),
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
		holdAll, r.held(ctx, "web", 80, 443),
		r.restart(ctx, ManagerOptions{}), r.held(ctx, "web", 80),
		func() error { return r.changeApproved(ctx, ranges(), 80) },
	)
}
