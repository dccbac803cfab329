package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// withNodes returns steps that start with n initialised nodes.
func withNodes(n int, next func(context.Context, *Session) error) func(context.Context, *Session) error {
	return func(ctx context.Context, r *Session) error {
		return steps.Run(
			func() error { return r.JoinN(ctx, n) },
			func() error { return r.Converge(ctx) },
			func() error { return next(ctx, r) },
		)
	}
}

// change puts a Service and converges.
func (r *Session) change(ctx context.Context, svc *v1.Service) error {
	if err := r.Put(ctx, svc); err != nil {
		return err
	}
	return r.Converge(ctx)
}

// changes puts versions of one Service one after the other, and checks that its address stays.
func (r *Session) changes(ctx context.Context, versions ...*v1.Service) error {
	var previous LoadBalancer
	for i, svc := range versions {
		if err := r.change(ctx, svc); err != nil {
			return steps.Wrap(fmt.Sprintf("version %d of service %s", i+1, svc.Name), err)
		}
		current, err := r.Balancer(ctx, svc.Name)
		if err != nil {
			return err
		}
		if i > 0 && (current.Name != previous.Name || !slices.Equal(current.Addresses, previous.Addresses)) {
			return fmt.Errorf("version %d of service %s moved it from %s to %s", i+1, svc.Name,
				compare.Describe([]LoadBalancer{previous}), compare.Describe([]LoadBalancer{current}))
		}
		previous = current
	}
	return nil
}

func (r *Session) deleted(name string) Check {
	return func(ctx context.Context) error {
		svc, err := r.Cluster.Service(ctx, Namespace, name)
		if err == nil && svc != nil {
			return fmt.Errorf("service %s still exists with finalizers %v", name, svc.Finalizers)
		}
		return err
	}
}

// hasNoBalancer checks that the Service has no finalizer and no address of a load balancer.
func (r *Session) hasNoBalancer(name string) Check {
	return func(ctx context.Context) error {
		svc, err := r.service(ctx, types.NamespacedName{Namespace: Namespace, Name: name})
		switch {
		case err != nil:
			return err
		case len(svc.Finalizers) > 0:
			return fmt.Errorf("service %s still has finalizers %v", name, svc.Finalizers)
		case len(svc.Status.LoadBalancer.Ingress) > 0:
			return fmt.Errorf("service %s still shows %v", name, statusAddresses(svc))
		}
		return nil
	}
}

func makeInternal(svc *v1.Service) *v1.Service {
	svc.Annotations[intent.KeyScheme] = string(intent.Internal)
	return svc
}

func withSourceRanges(svc *v1.Service, ranges ...string) *v1.Service {
	svc.Spec.LoadBalancerSourceRanges = ranges
	return svc
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

// removeHistory removes what managers know about the earlier inputs of a Service.
func (r *Session) removeHistory(ctx context.Context, name string) error {
	svc, err := r.Cluster.Service(ctx, Namespace, name)
	if err != nil {
		return err
	}
	return r.Cluster.SetServiceStatus(ctx, Namespace, name, v1.ServiceStatus{LoadBalancer: svc.Status.LoadBalancer})
}

// changeApproved gives a Service other ports and approves what is held. A manager that was killed before it had
// recorded what it saw first applies the Service's settings.
func (r *Session) changeApproved(ctx context.Context, svc *v1.Service, ports ...int32) error {
	svc.Spec.Ports = loadBalancerService(svc.Name, ports...).Spec.Ports
	if err := r.Put(ctx, svc); err != nil {
		return err
	}
	if err := r.Settled(ctx); err != nil {
		return err
	}
	p, err := r.Plan(ctx, svc.Name)
	if err != nil {
		return err
	}
	if len(p.Held) > 0 {
		svc.Annotations[intent.KeyApprove] = p.HeldID
	}
	return r.change(ctx, svc)
}

// skipTime lets time pass, if the driver can skip it.
func (r *Session) skipTime(ctx context.Context, d time.Duration) error {
	if cluster, ok := r.Cluster.(TimeSkipper); ok {
		return cluster.SkipTime(ctx, d)
	}
	return nil
}

// tainted checks the shutdown taint of the node.
func (r *Session) tainted(name string, want bool) Check {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		if have := hasTaint(node, cloudproviderapi.TaintNodeShutdown); have != want {
			return fmt.Errorf("node %s carries the shutdown taint: %t, want %t", name, have, want)
		}
		return nil
	}
}
