package loadbalancer

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// attempts is how often the framework would try before the test gives up.
const attempts = 12

// until tries as the framework does, with pauses, until work succeeds.
func (r *rig) until(what string, work func(context.Context) error) {
	r.t.Helper()
	var err error
	for range attempts {
		ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
		err = work(ctx)
		cancel()
		if err == nil {
			return
		}
		r.sim.Front().Revive()
		r.sim.Unstick() // which the cloud's operator does
		r.sleep(5 * time.Second)
	}
	r.t.Fatalf("%s never succeeds: %v", what, err)
}

// life is the whole life of a Service: created, changed in several ways, its nodes changed, made
// internal, deleted.
func (r *rig) life() {
	svc := service()
	ensure := func(ctx context.Context) error {
		_, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes)
		return err
	}
	r.until("create", ensure)
	annotate("enable-health-monitor", "true")(svc)
	if r.settings.Provider != model.ProviderOVN {
		annotate("x-forwarded-for", "true")(svc)
	}
	svc.Spec.Ports = append(svc.Spec.Ports[1:], v1.ServicePort{Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053})
	r.until("change", ensure)
	r.nodes = r.nodes[1:]
	r.until("update", func(ctx context.Context) error {
		if err := r.manager.UpdateLoadBalancer(ctx, r.cluster, svc, r.nodes); err != nil {
			return ensure(ctx) // which is what the framework does
		}
		return nil
	})
	svc.Annotations[annotation.KeyInternal] = "true"
	r.until("internal", ensure)
	r.until("delete", func(ctx context.Context) error {
		_, exists, err := r.manager.GetLoadBalancer(ctx, r.cluster, svc)
		if err != nil || !exists {
			return err
		}
		return r.manager.EnsureLoadBalancerDeleted(ctx, r.cluster, svc)
	})
	r.sim.Front().SetFaults()
	r.nothing()
}

// A fault at every single call of a Service's life leads to the same end, and leaves nothing behind.
func TestFaultAtEveryCall(t *testing.T) {
	options := sim.Options{SettleTime: 300 * time.Millisecond}
	settings := Settings{ManageSecurityGroups: true}
	calls := 0
	bubble(t, options, settings, func(r *rig) {
		r.life()
		calls = len(r.calls())
	})
	if calls < 30 {
		t.Fatalf("a life of %d calls is no test", calls)
	}
	for _, kind := range []kit.FaultKind{kit.FaultError, kit.FaultLostReply, kit.FaultThrottle, kit.FaultKillAfter} {
		for n := 1; n <= calls; n += 1 + n/30 {
			t.Run(fmt.Sprintf("%s at call %d", kind, n), func(t *testing.T) {
				t.Parallel()
				bubble(t, options, settings, func(r *rig) {
					r.sim.Front().OnKill(r.restartQuietly)
					r.sim.Front().SetFaults(kit.Fault{Kind: kind, Call: n})
					r.life()
				})
			})
		}
	}
}

// A load balancer or a part of it that goes to ERROR or stays PENDING at any of its changes is created again, or changed
// once the cloud's operator has repaired it. Nothing leaks.
func TestFailedOutcomeAtEveryChange(t *testing.T) {
	const changes = 14
	for _, driver := range []string{"amphora", model.ProviderOVN} {
		for _, outcome := range []sim.Outcome{sim.OutcomeError, sim.OutcomeChildrenError, sim.OutcomeStuck, sim.OutcomeChildrenStuck} {
			for n := 1; n <= changes; n++ {
				t.Run(fmt.Sprintf("%s, %s at change %d", driver, outcome, n), func(t *testing.T) {
					t.Parallel()
					bubble(t, sim.Options{SettleTime: 300 * time.Millisecond}, Settings{Provider: driver, ManageSecurityGroups: true}, func(r *rig) {
						r.sim.SetOutcomes(sim.OutcomeRule{Outcome: outcome, Call: n})
						r.life()
					})
				})
			}
		}
	}
}

// A token that ends at any call in the middle of a plan is replaced, and the plan goes on.
func TestTokenExpiresAtEveryCall(t *testing.T) {
	for n := 1; n <= 60; n += 1 + n/12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{SettleTime: 300 * time.Millisecond}, Settings{ManageSecurityGroups: true}, func(r *rig) {
				r.sim.EndTokensAfter(n)
				svc := service()
				r.ensure(svc)
				annotate("x-forwarded-for", "true")(svc)
				r.ensure(svc)
				r.nodes = r.nodes[1:]
				r.update(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A failure to read the version of the API does not read as an old version, in which a shared load balancer looks like
// one that is the Service's alone.
func TestUnknownOctaviaVersionChangesNothing(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		r.ensure(service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID)))
		r.restart()
		r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "ListVersions", Times: kit.Always})
		r.ensure(owner)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		r.remove(owner)
		r.sim.Front().SetFaults()
		r.wantPorts(1)
	})
}
