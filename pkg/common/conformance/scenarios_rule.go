package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// ruleScenarios are about load balancers that live while their Service, or what surrounds it, cannot be applied.
func ruleScenarios() []Scenario {
	return []Scenario{
		{
			Name: "Service becomes invalid", Needs: needsBalancer,
			Doc: "A Service that becomes invalid keeps its load balancer, and nodes join and leave it, also after a restart.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				var before LoadBalancer
				return steps(
					func() error { return r.change(ctx, loadBalancerService("web", 80, 443)) },
					func() (err error) { before, err = r.Balancer(ctx, "web"); return err },
					func() error { return r.Put(ctx, invalid(loadBalancerService("web", 80, 443))) },
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
	}
}

// invalid gives the Service an annotation that no cloud can apply.
func invalid(svc *v1.Service) *v1.Service {
	svc.Annotations[intent.KeyScheme] = "neither"
	return svc
}

// keeps checks that a Service has the load balancer and the addresses that it had.
func (r *Session) keeps(name string, before *LoadBalancer) Check {
	return func(ctx context.Context) error {
		now, err := r.Balancer(ctx, name)
		if err == nil && (now.Name != before.Name || !slices.Equal(now.Addresses, before.Addresses)) {
			err = fmt.Errorf("service %s moved from %s to %s", name, describe([]LoadBalancer{*before}),
				describe([]LoadBalancer{now}))
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
