// Package heldtest holds disruptive edits of Services, alone and in pairs, and checks that nothing else is held.
package heldtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Edit is a disruptive edit of a Service with the ports 80 and 443.
type Edit struct {
	// Before prepares the Service that is edited; may be nil.
	Before, Make Change
}

// Change edits a Service, and adds what the Service then names to the world.
type Change func(*v1.Service, conformance.World) error

// Of returns a change that needs nothing of the world.
func Of(edit func(*v1.Service)) Change {
	return func(svc *v1.Service, _ conformance.World) error {
		edit(svc)
		return nil
	}
}

// Annotate returns a change that sets annotations: a key, its value, and so on.
func Annotate(pairs ...string) Change {
	return Of(func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	})
}

// Options are the disruptive edits of a provider's Services.
type Options struct {
	Subject conformance.Subject
	Edits   map[string]Edit
	// NotCaused are the disruptions of the descriptor that no edit causes, by their Change, with the reason.
	NotCaused map[string]string
	// Refused are the pairs of edits that no load balancer can have, by their names, "address, internal", with the reason:
	// what exists stays once they are allowed.
	Refused map[string]string
	// WithoutPort is set if a load balancer cannot get a port beside one that is held.
	WithoutPort bool
}

// Run holds each edit, and each pair of them, beside a further port, another interval of health checks and a
// further node: what exists stays as it is, the port and the interval are applied, and all ports get the node. The
// plans hold nothing but disruptions. Then the edits are allowed, and the load balancer becomes that of the Service.
// Every disruption of the descriptor has to be held once.
func Run(t *testing.T, o Options) {
	t.Helper()
	controllers.DiscardLogs(t)
	var mu sync.Mutex
	var held []plan.Difference
	t.Run("edits", func(t *testing.T) {
		names := slices.Sorted(maps.Keys(o.Edits))
		for i, first := range names {
			for _, second := range names[i:] {
				name := first + ", " + second
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					edits := []Edit{o.Edits[first]}
					if second != first {
						edits = append(edits, o.Edits[second])
					}
					steps.InBubble(t, func(t *testing.T) error {
						differences, err := o.run(t, edits, o.Refused[name] != "")
						mu.Lock()
						defer mu.Unlock()
						held = append(held, differences...)
						return err
					})
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	for _, e := range o.Subject.Disruptions {
		caused := slices.ContainsFunc(held, e.Covers)
		if _, excepted := o.NotCaused[e.Change]; caused == excepted {
			t.Errorf("held because %s: %t, and an exception: %t", e.Change, caused, excepted)
		}
	}
}

// run holds edits of one Service in a new world, and then allows them. It returns what was held.
func (o Options) run(t *testing.T, edits []Edit, refused bool) ([]plan.Difference, error) {
	var before, after *v1.Service
	ctx := klog.NewContext(t.Context(), logr.Discard())
	r, end, err := o.Subject.Session(ctx, t, func(w conformance.World) (err error) {
		before, after, err = o.services(w, edits)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer end()
	if equality.Semantic.DeepEqual(before, after) {
		t.Skip("the edits undo each other")
	}
	if slices.Contains(o.Subject.Portable, intent.KeyHealthCheckInterval) {
		after.Annotations[intent.KeyHealthCheckInterval] = "7s"
	}
	if !o.WithoutPort {
		after.Spec.Ports = append(after.Spec.Ports, portOf(8443))
	}
	var p plan.Plan
	var existing conformance.LoadBalancer
	applied := func() error { return r.Converge(ctx, isApplied(r)) }
	if refused {
		applied = func() error {
			_ = r.Settled(ctx) // fails as long as the Service is not corrected
			return keepsPorts(ctx, r, existing, !o.WithoutPort)
		}
	}
	err = steps.Run(
		func() error { return r.JoinN(ctx, 2) },
		func() error { return r.Put(ctx, before) },
		func() error { return r.Converge(ctx, isApplied(r)) },
		func() error {
			return r.Restart(ctx, conformance.ManagerOptions{Disruption: provider.HoldAllDisruption})
		},
		func() error { return r.Settled(ctx) },
		func() (err error) { existing, err = r.Balancer(ctx, service); return err },
		func() (err error) {
			p, err = holdEdits(ctx, r, after, existing, len(edits) > 1, !o.WithoutPort)
			return err
		},
		func() error { return r.Restart(ctx, conformance.ManagerOptions{}) },
		func() error { return steps.Wrap("allowed", applied()) },
		func() error { return r.Clear(ctx) },
	)
	var excluded *excludedError
	if errors.As(err, &excluded) {
		t.Skip(excluded)
	}
	return p.Differences(), err
}

// service is the name of the Service that is edited.
const service = "web"

func webService() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformance.Namespace, Name: service, Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": service},
			Ports: []v1.ServicePort{portOf(80), portOf(443)}},
	}
}

func portOf(port int32) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("tcp-%d", port), Protocol: v1.ProtocolTCP, Port: port}
}

// services returns the Service before and after the edits.
func (o Options) services(w conformance.World, edits []Edit) (before, after *v1.Service, err error) {
	before = webService()
	for _, e := range edits {
		if e.Before != nil {
			err = errors.Join(err, e.Before(before, w))
		}
	}
	after = before.DeepCopy()
	for _, e := range edits {
		err = errors.Join(err, e.Make(after, w))
	}
	return before, after, err
}

// excludedError is why two edits cannot be made together.
type excludedError struct{ error }

// holdEdits edits a Service and adds a node, and checks that the edits are held and that nothing else is.
func holdEdits(ctx context.Context, r *conformance.Session, svc *v1.Service, existing conformance.LoadBalancer,
	several, morePorts bool) (p plan.Plan, err error) {
	if err := r.Put(ctx, svc); err != nil {
		return p, err
	}
	if _, err := r.Plan(ctx, svc.Name); err != nil && several {
		return p, &excludedError{err}
	}
	check := func(ctx context.Context) error {
		if p, err = r.Plan(ctx, svc.Name); err != nil {
			return err
		}
		return errors.Join(holds(p), onlyDisruptive(p), keepsPorts(ctx, r, existing, morePorts))
	}
	err = steps.Run(
		func() error { return steps.Wrap("held", r.Settled(ctx, check)) },
		func() error { return r.JoinN(ctx, 1) },
		func() error { return steps.Wrap("held, with a further node", r.Settled(ctx, check)) },
	)
	return p, err
}

// keepsPorts checks that a load balancer has what it had, all nodes as members, and one port more if it can have one.
func keepsPorts(ctx context.Context, r *conformance.Session, before conformance.LoadBalancer, more bool) error {
	members, err := r.Members(ctx)
	if err != nil {
		return err
	}
	lb, err := r.Balancer(ctx, service)
	if err != nil {
		return err
	}
	if lb.Name != before.Name || lb.Internal != before.Internal {
		err = fmt.Errorf("another load balancer: %s", compare.Describe([]conformance.LoadBalancer{lb}))
	}
	want := len(before.Listeners)
	if more {
		want++
	}
	if len(lb.Listeners) != want {
		err = errors.Join(err, fmt.Errorf("%d listeners, want %d", len(lb.Listeners), want))
	}
	for _, l := range lb.Listeners {
		if !slices.Equal(compare.Sorted(l.Members), members) {
			err = errors.Join(err, fmt.Errorf("port %d has the members %v, want %v", l.Port, l.Members, members))
		}
	}
	for _, old := range before.Listeners {
		if !slices.ContainsFunc(lb.Listeners, func(l world.Listener) bool { return sameButMembers(old, l) }) {
			err = errors.Join(err, fmt.Errorf("the listener of port %d has changed from %+v: %+v", old.Port, old, lb.Listeners))
		}
	}
	return err
}

// sameButMembers reports whether two listeners differ in their members at most.
func sameButMembers(a, b world.Listener) bool {
	a.Members, b.Members = nil, nil
	a.MemberPort, b.MemberPort = 0, 0
	a.SourceRanges, b.SourceRanges = compare.OpenTo(a.SourceRanges), compare.OpenTo(b.SourceRanges)
	return equality.Semantic.DeepEqual(a, b)
}

// isApplied checks that the Service is as wanted.
func isApplied(r *conformance.Session) conformance.Check {
	return func(ctx context.Context) error {
		p, err := r.Plan(ctx, service)
		if err == nil && (!p.Empty() || len(p.Held) > 0) {
			err = fmt.Errorf("the plan makes %s, and holds %s", plan.Summary(p), p.Differences())
		}
		return err
	}
}

// holds checks that a plan holds changes, and changes nothing.
func holds(p plan.Plan) error {
	if len(p.Held) > 0 && p.HeldID != "" && p.Empty() {
		return nil
	}
	return fmt.Errorf("the plan holds %d changes with the ID %q and makes %s", len(p.Held), p.HeldID, plan.Summary(p))
}

// onlyDisruptive checks that a plan holds nothing but disruptions, and what the plan makes only together with one.
func onlyDisruptive(p plan.Plan) (err error) {
	together := sets.New[plan.Ref]()
	for _, c := range p.Held {
		if c.Disrupts.Severe() {
			together.Insert(c.Ref)
		}
	}
	for before := -1; before != together.Len(); {
		before = together.Len()
		for _, c := range p.Held {
			if together.HasAny(c.After...) {
				together.Insert(c.Ref)
			}
			if together.Has(c.Ref) {
				together.Insert(c.After...)
			}
		}
	}
	for _, c := range p.Held {
		if !together.Has(c.Ref) {
			err = errors.Join(err, fmt.Errorf("holds %s", c.Ref))
		}
		for _, f := range c.Fields {
			if c.Action == plan.Update && !f.Disrupts.Severe() {
				err = errors.Join(err, fmt.Errorf("holds %s of %s", f.Name, c.Ref))
			}
		}
	}
	return err
}
