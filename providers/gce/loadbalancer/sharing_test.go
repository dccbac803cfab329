package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// planOf returns the bound plan of a sync, or of the deletion, of a Service. The cloud is observed now.
func (r *rig) planOf(s *v1.Service, deleted bool, nodes ...*v1.Node) plan.Plan {
	r.Helper()
	var want *model.Desired
	if !deleted {
		d := r.desired(s, nodes...)
		want = &d
	}
	have := r.observe(s, want)
	p, err := r.cloud.Diff(keyOf(s), want, have)
	if err != nil {
		r.Fatal(err)
	}
	return r.cloud.Bind(keyOf(s), have, p)
}

func keyOf(s *v1.Service) lbcommon.Key {
	return lbcommon.Key{Namespace: s.Namespace, Name: s.Name, UID: s.UID}
}

// desired returns the desired objects of a Service.
func (r *rig) desired(s *v1.Service, nodes ...*v1.Node) model.Desired {
	r.Helper()
	in, _, err := intent.Read(s, annotation.Vocabulary(names.Scheme))
	if err != nil {
		r.Fatal(err)
	}
	shared, err := r.cloud.SharedState(r.Context(), nodes)
	if err != nil {
		r.Fatal(err)
	}
	want, err := r.cloud.Desired(keyOf(s), in, nodes, shared)
	if err != nil {
		r.Fatal(err)
	}
	return want
}

// observe returns the existing objects of a Service.
func (r *rig) observe(s *v1.Service, want *model.Desired) Observed {
	r.Helper()
	request := lbcommon.Request[model.Desired]{Key: keyOf(s), Want: want, Depth: lbcommon.Existence}
	if want != nil {
		request.Depth = lbcommon.Full
	}
	have, err := r.cloud.Observe(r.Context(), request)
	if err != nil {
		r.Fatal(err)
	}
	return have
}

func (r *rig) apply(p plan.Plan) {
	r.Helper()
	if _, err := p.Apply(r.Context(), plan.ApplyOptions{}); err != nil {
		r.Fatal(err)
	}
}

// members returns the paths of all objects, with the members of instance groups.
func (r *rig) members() map[string][]string {
	out := map[string][]string{}
	for path, object := range r.objects {
		out[path] = stringsOf(object["members"])
	}
	return out
}

// A sync that could not read the objects of internal load balancers leaves the next external one with a part of them.
func TestKindThatWasNotReadIsNotDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	n := node("r1-b", "node-1")
	external, inside := service("web", webUID, 80), internal(service("db", dbUID, 5432))
	r.ensure(external, n)
	r.ensure(inside, n)
	for call := 1; call <= 12; call++ {
		r.restart(config.Global{SubnetworkName: "s"})
		r.calls()
		r.failAfter(call)
		_, _ = r.controller.EnsureLoadBalancer(t.Context(), "c", inside, []*v1.Node{n})
		r.failAfter(0)
		r.ensure(external, n)
		r.ensure(inside, n)
		if _, changes := r.calls(); len(changes) > 0 {
			t.Errorf("call %d failed: changes %q", call, changes)
		}
	}
}

// What load balancers share may be deleted with the last of them between the plan of a new one and its changes.
func TestSharedObjectsThatWereDeletedSinceThePlanAreCreated(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(*v1.Service) *v1.Service{
		"external": func(s *v1.Service) *v1.Service { return s }, "internal": internal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{SubnetworkName: "s"})
			nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-c", "node-2")}
			last, next := kind(service("web", webUID, 80)), kind(service("db", dbUID, 5432))
			r.ensure(last, nodes...)
			creation := r.planOf(next, false, nodes...)
			r.apply(r.planOf(last, true))
			r.verify(nil)
			r.apply(creation)
			alone := newRig(t, config.Global{SubnetworkName: "s"})
			alone.apply(alone.planOf(next, false, nodes...))
			if diff := cmp.Diff(alone.members(), r.members()); diff != "" {
				t.Errorf("objects with their members (-alone +after the deletion):\n%s", diff)
			}
			r.clock.Step(snapshotAge)
			r.calls()
			r.ensure(next, nodes...)
			r.verifyChanges()
		})
	}
}

// A load balancer that was interrupted before it used what it shares leaves nothing behind when its Service is deleted.
func TestInterruptedCreationIsDeleted(t *testing.T) {
	t.Parallel()
	shared := internal(service("web", webUID, 80))
	shared.Annotations[annotation.KeyBackendShare] = "true"
	for name, s := range map[string]*v1.Service{
		"external": service("web", webUID, 80), "internal": internal(service("web", webUID, 80)),
		"shared backend service": shared, "local": local(internal(service("web", webUID, 80))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call := 1; call < 40; call++ {
				r := newRig(t, config.Global{SubnetworkName: "s"})
				r.failAfter(call)
				_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s.DeepCopy(), []*v1.Node{node("r1-b", "node-1")})
				r.failAfter(0)
				r.remove(s)
				r.verify(nil)
				if t.Failed() {
					t.Fatalf("after the failure of call %d", call)
				}
				if err == nil {
					return
				}
			}
		})
	}
}
