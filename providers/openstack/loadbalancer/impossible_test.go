package loadbalancer

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

const unknownID = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"

// A load balancer that cannot be completed is created at most once, however often the framework retries.
func TestImpossibleLoadBalancerIsNotCreatedAgain(t *testing.T) {
	for _, tt := range []struct {
		name, key, value string
		creations        int
		texts            []string
	}{
		{"unknown member subnet", "member-subnet-id", unknownID, 1, []string{"member-subnet-id", unknownID}},
		{"unknown external network", "floating-network-id", unknownID, 1, []string{"floating-network-id"}},
		{"floating IP that policy forbids", "load-balancer-address", "172.24.4.77", 1, []string{"policy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				if tt.key == "member-subnet-id" {
					// What Octavia does when it builds members in a subnet that does not exist.
					r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError, Times: -1})
				}
				svc := service(annotate(tt.key, tt.value))
				if tt.key == "load-balancer-address" {
					svc = service()
					svc.Spec.LoadBalancerIP = tt.value
				}
				for range 5 {
					r.ensureError(svc, tt.texts...)
					r.sleep(5 * time.Minute)
				}
				counts := r.sim.Front().Log().Count()
				if made, deleted := counts["CreateLoadBalancer"], counts["DeleteLoadBalancer"]; made > tt.creations || deleted != 0 {
					t.Errorf("%d creations and %d deletions, want %d and none", made, deleted, tt.creations)
				}
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// Settings that Octavia accepts are not refused: timeouts of up to a year, and a probe that may take longer than the
// time between two, which is only unusual.
func TestAcceptedTimeouts(t *testing.T) {
	bubble(t, sim.Options{}, Settings{CreateMonitor: true, MonitorDelay: 2 * time.Second, MonitorTimeout: 9 * time.Second}, func(r *rig) {
		svc := service(annotate("timeout-client-data", "31536000000"))
		r.ensure(svc)
		if l := r.listener(80); l.TimeoutClientData != 31536000000 {
			t.Errorf("the timeout is %d", l.TimeoutClientData)
		}
		if m := r.monitor(80); m.Delay != 2 || m.Timeout != 9 {
			t.Errorf("the monitor has the delay %d and the timeout %d", m.Delay, m.Timeout)
		}
		annotate("health-monitor-delay", "3")(svc)
		r.ensure(svc)
		r.wantEvent("exceeds the time between two, 3s")
		if m := r.monitor(80); m.Delay != 3 || m.Timeout != 9 {
			t.Errorf("the monitor has the delay %d and the timeout %d", m.Delay, m.Timeout)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A load balancer that Octavia cannot build, for a reason that nothing shows, is created twice, and then kept in
// the state ERROR for a growing time. A change of the Service creates it again at once.
func TestFailingCreationIsRepeatedWithGrowingPauses(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError, Times: -1})
		svc := service()
		wantCreations := func(want int) {
			t.Helper()
			if got := r.sim.Front().Log().Count()["CreateLoadBalancer"]; got != want {
				t.Errorf("%d creations, want %d", got, want)
			}
		}
		for range 6 {
			r.ensureError(svc, "state ERROR")
			r.sleep(30 * time.Second)
		}
		wantCreations(2)
		r.sleep(apply.MinCreationBackoff)
		for range 6 {
			r.ensureError(svc, "it is kept")
			r.sleep(time.Minute)
		}
		wantCreations(3)
		annotate("connection-limit", "100")(svc)
		r.ensureError(svc, "state ERROR")
		wantCreations(4)
		r.sim.SetOutcomes()
		r.ensure(svc)
		wantCreations(5)
		r.remove(svc)
		r.nothing()
	})
}

// Members follow the nodes while the cloud refuses what an edit needs: the load balancer stays as long as that lasts.
func TestMembersFollowWhileAnEditIsRefused(t *testing.T) {
	for name, edit := range map[string]func(*v1.Service){
		"unknown flavor":      annotate("flavor-id", unknownID),
		"unknown certificate": annotate("default-tls-container-ref", "http://openstack.invalid/key-manager/v1/containers/"+unknownID),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				edit(svc)
				r.ensureError(svc)
				r.nodes = r.nodes[1:]
				if err := r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes); err != nil {
					r.t.Error(err)
				}
				r.wantMembers("a change of nodes", 2)
				r.nodes = r.nodes[1:]
				r.ensureError(svc)
				r.wantMembers("a sync", 1)
				r.remove(svc)
			})
		})
	}
}

// wantMembers fails unless each port has so many members.
func (r *rig) wantMembers(after string, want int) {
	r.t.Helper()
	for _, port := range []int{80, 443} {
		if got := len(r.membersAt(port)); got != want {
			r.t.Errorf("after %s: port %d has %d members, want %d", after, port, got, want)
		}
	}
}
