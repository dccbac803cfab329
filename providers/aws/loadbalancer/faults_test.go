package loadbalancer

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// attempts is how often the framework of these tests comes back; two faults at most are in its way.
const attempts = 6

// insist calls until it works, as the framework does.
func (r *rig) insist(what string, call func() error) {
	r.t.Helper()
	var err error
	for range attempts {
		if err = call(); err == nil {
			return
		}
		if r.killed.Swap(false) {
			r.sim.Front().Revive()
			r.restart()
		}
		r.clock.Step(20 * time.Second)
	}
	r.t.Errorf("%s: %v", what, err)
}

// life is a Service that is made, changed and deleted, with every step insisted on.
func (r *rig) life(first, second *v1.Service) {
	r.t.Helper()
	ensure := func(svc *v1.Service) func() error {
		return func() error {
			_, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
			return err
		}
	}
	r.insist("create", ensure(first))
	r.insist("change", ensure(second))
	r.insist("delete", func() error {
		_, exists, err := r.manager.GetLoadBalancer(r.t.Context(), clusterName, second)
		if err != nil || !exists {
			return err
		}
		if err := r.manager.EnsureLoadBalancerDeleted(r.t.Context(), clusterName, second); err != nil {
			return err
		}
		return nil
	})
}

// A fault at every single call of a life: afterwards nothing is left.
func TestNetworkFaultsAtEveryCall(t *testing.T) {
	first := service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTags, "a=1"))
	second := service(local, func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }, annotate(annotation.KeyCrossZone, "true", annotation.KeyTags, "b=1"))
	injected := 0
	for _, managed := range []bool{false, true} {
		for _, kind := range []kit.FaultKind{kit.FaultError, kit.FaultThrottle, kit.FaultLostReply, kit.FaultKillAfter} {
			for call := 1; ; call++ {
				if testing.Short() && call%5 != 0 {
					call += 4
				}
				done := false
				t.Run(fmt.Sprintf("%s at call %d, managed %t", kind, call, managed), func(t *testing.T) {
					r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = managed })
					before := r.bare()
					front := r.sim.Front()
					front.OnKill(func() { r.killed.Store(true) })
					front.SetFaults(kit.Fault{Kind: kind, Call: call})
					r.life(first, second)
					done = front.Injected() == 0
					injected += front.Injected()
					front.SetFaults()
					r.restart()
					r.remove(second)
					r.sameAs(t, before)
				})
				if done || t.Failed() {
					break
				}
			}
		}
	}
	t.Logf("%d faults injected", injected)
}
