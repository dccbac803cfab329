package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
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

// removeHistory removes what managers know about the earlier inputs of a Service.
func (r *Session) removeHistory(ctx context.Context, name string) error {
	svc, err := r.Cluster.Service(ctx, Namespace, name)
	if err != nil {
		return err
	}
	return r.Cluster.SetServiceStatus(ctx, Namespace, name, v1.ServiceStatus{LoadBalancer: svc.Status.LoadBalancer})
}

// holds checks that a plan holds changes, and changes nothing.
func holds(p plan.Plan) error {
	if len(p.Held) > 0 && p.HeldID != "" && p.Empty() {
		return nil
	}
	return fmt.Errorf("holds %d changes with the ID %q and makes: %s", len(p.Held), p.HeldID,
		strings.Join(summaries(p), "; "))
}

// listens checks that the load balancer of a Service has these ports, and all nodes as members at each.
func (r *Session) listens(name string, ports ...int32) Check {
	return func(ctx context.Context) error {
		lb, err := r.Balancer(ctx, name)
		if err != nil {
			return err
		}
		members, err := r.Members(ctx)
		if err != nil {
			return err
		}
		have, err := portsWithMembers(name, lb, members)
		if !slices.Equal(have, ports) {
			err = errors.Join(err, fmt.Errorf("service %s has the ports %v, want %v", name, have, ports))
		}
		return err
	}
}

// portsWithMembers returns the ports of a load balancer, and an error if one has other members.
func portsWithMembers(service string, lb LoadBalancer, members []string) (ports []int32, err error) {
	for _, l := range lb.Listeners {
		ports = append(ports, l.Port)
		if !slices.Equal(compare.Sorted(l.Members), members) {
			err = errors.Join(err, fmt.Errorf("port %d of service %s has the members %v, want %v", l.Port, service, l.Members,
				members))
		}
	}
	return ports, err
}

// makeInvalid gives the Service an annotation that no cloud can apply.
func makeInvalid(svc *v1.Service) *v1.Service {
	svc.Annotations[intent.KeyScheme] = "neither"
	return svc
}

// keeps checks that a Service has the load balancer and the addresses that it had.
func (r *Session) keeps(name string, before *LoadBalancer) Check {
	return func(ctx context.Context) error {
		current, err := r.Balancer(ctx, name)
		if err == nil && (current.Name != before.Name || !slices.Equal(current.Addresses, before.Addresses)) {
			err = fmt.Errorf("service %s moved from %s to %s", name, compare.Describe([]LoadBalancer{*before}),
				compare.Describe([]LoadBalancer{current}))
		}
		return err
	}
}

// warned checks that an Event of a Service has the text.
func (r *Session) warned(name, text string) Check {
	return func(ctx context.Context) error {
		all, err := r.Cluster.Events(ctx, "Service", Namespace, name)
		if err != nil || slices.ContainsFunc(all, func(event string) bool { return strings.Contains(event, text) }) {
			return err
		}
		return fmt.Errorf("no Event of service %s has %q: %s", name, text, strings.Join(all, "; "))
	}
}
