package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// DisruptiveEdit is an edit of a Service with the ports 80 and 443.
type DisruptiveEdit struct {
	// Before prepares the Service that is edited; may be nil.
	Before, Edit ServiceEdit
}

// ServiceEdit edits a Service, and adds what the Service then names to the world.
type ServiceEdit func(*v1.Service, World) error

// Edit returns an edit that needs nothing of the world.
func Edit(edit func(*v1.Service)) ServiceEdit {
	return func(svc *v1.Service, _ World) error {
		edit(svc)
		return nil
	}
}

// Annotate returns an edit that sets annotations: a key, its value, and so on.
func Annotate(pairs ...string) ServiceEdit {
	return Edit(func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	})
}

// HeldEdits are the disruptive edits of a provider's Services.
type HeldEdits struct {
	Subject Subject
	Edits   map[string]DisruptiveEdit
	// NotCaused are the disruptions of the descriptor that no edit causes, by their Change, with the reason.
	NotCaused map[string]string
	// Refused are the pairs of edits that no load balancer can have, by their names, "address, internal", with the reason:
	// what exists stays once they are allowed.
	Refused map[string]string
	// WithoutPort is set if a load balancer cannot get a port beside one that is held.
	WithoutPort bool
}

// RunHeldEdits holds each edit, and each pair of them, beside a further port, another interval of health checks and a
// further node: what exists stays as it is, the port and the interval are applied, and all ports get the node. The
// plans hold nothing but disruptions. Then the edits are allowed, and the load balancer becomes that of the Service.
// Every disruption of the descriptor has to be held once.
func RunHeldEdits(t *testing.T, h HeldEdits) {
	t.Helper()
	controllers.DiscardLogs(t)
	var mu sync.Mutex
	var held []plan.Difference
	t.Run("edits", func(t *testing.T) {
		names := slices.Sorted(maps.Keys(h.Edits))
		for i, first := range names {
			for _, second := range names[i:] {
				name := first + ", " + second
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					edits := []DisruptiveEdit{h.Edits[first]}
					if second != first {
						edits = append(edits, h.Edits[second])
					}
					steps.InBubble(t, func(t *testing.T) error {
						differences, err := h.run(t, edits, h.Refused[name] != "")
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
	for _, e := range h.Subject.Disruptions {
		caused := slices.ContainsFunc(held, e.Covers)
		if _, excepted := h.NotCaused[e.Change]; caused == excepted {
			t.Errorf("held because %s: %t, and an exception: %t", e.Change, caused, excepted)
		}
	}
}

// run holds edits of one Service in a new world, and then allows them. It returns what was held.
func (h HeldEdits) run(t *testing.T, edits []DisruptiveEdit, refused bool) ([]plan.Difference, error) {
	w, start := h.Subject.New(t)
	before, after, err := h.services(w, edits)
	if err != nil {
		return nil, err
	}
	ctx := klog.NewContext(t.Context(), logr.Discard())
	cluster, err := newInProcess(ctx, w, start, synctest.Wait)
	if err != nil {
		return nil, err
	}
	defer cluster.end()
	r := NewSession(cluster, w, h.Subject.Capabilities)
	r.Disruptions, r.ServiceAnnotations = h.Subject.Disruptions, h.Subject.ServiceAnnotations

	if equality.Semantic.DeepEqual(before, after) {
		t.Skip("the edits undo each other")
	}
	if slices.Contains(h.Subject.Portable, intent.KeyHealthCheckInterval) {
		after.Annotations[intent.KeyHealthCheckInterval] = "7s"
	}
	if !h.WithoutPort {
		after.Spec.Ports = append(after.Spec.Ports, port(v1.ProtocolTCP, 8443))
	}
	var p plan.Plan
	var existing LoadBalancer
	applied := func() error { return r.Converge(ctx, r.planned("web", changesAndHoldsNothing)) }
	if refused {
		applied = func() error {
			_ = r.Settled(ctx) // fails as long as the Service is not corrected
			return r.keepsPorts(ctx, "web", existing, !h.WithoutPort)
		}
	}
	err = steps.Run(
		func() error { return r.JoinN(ctx, 2) },
		r.finished(ctx, before),
		r.restart(ctx, ManagerOptions{Disruption: provider.HoldAllDisruption}),
		func() error { return r.Settled(ctx) },
		func() (err error) { existing, err = r.Balancer(ctx, "web"); return err },
		func() (err error) {
			p, err = r.holdEdits(ctx, after, existing, len(edits) > 1, !h.WithoutPort)
			return err
		},
		r.restart(ctx, ManagerOptions{}),
		func() error { return steps.Wrap("allowed", applied()) },
		func() error { return r.Clear(ctx) },
	)
	var excluded *excludedError
	if errors.As(err, &excluded) {
		t.Skip(excluded)
	}
	return p.Differences(), err
}

// services returns the Service before and after the edits.
func (h HeldEdits) services(w World, edits []DisruptiveEdit) (before, after *v1.Service, err error) {
	before = loadBalancerService("web", 80, 443)
	for _, e := range edits {
		if e.Before != nil {
			err = errors.Join(err, e.Before(before, w))
		}
	}
	after = before.DeepCopy()
	for _, e := range edits {
		err = errors.Join(err, e.Edit(after, w))
	}
	return before, after, err
}

// excludedError is why two edits cannot be made together.
type excludedError struct{ error }

// holdEdits edits a Service and adds a node, and checks that the edits are held and that nothing else is.
func (r *Session) holdEdits(ctx context.Context, svc *v1.Service, existing LoadBalancer,
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
		return errors.Join(holds(p), onlyDisruptive(p), r.keepsPorts(ctx, svc.Name, existing, morePorts))
	}
	err = steps.Run(
		func() error { return steps.Wrap("held", r.Settled(ctx, check)) },
		func() error { return r.JoinN(ctx, 1) },
		func() error { return steps.Wrap("held, with a further node", r.Settled(ctx, check)) },
	)
	return p, err
}

// keepsPorts checks that a load balancer has what it had, all nodes as members, and one port more if it can have one.
func (r *Session) keepsPorts(ctx context.Context, service string, before LoadBalancer, more bool) error {
	members, err := r.members(ctx)
	if err != nil {
		return err
	}
	lb, err := r.Balancer(ctx, service)
	if err != nil {
		return err
	}
	if lb.Name != before.Name || lb.Internal != before.Internal {
		err = fmt.Errorf("another load balancer: %s", compare.Describe([]LoadBalancer{lb}))
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

// changesAndHoldsNothing checks that a Service is as wanted.
func changesAndHoldsNothing(p plan.Plan) error {
	if len(p.Held) > 0 {
		return fmt.Errorf("holds %s", p.Differences())
	}
	return noChanges(p)
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
