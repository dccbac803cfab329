package loadbalancer

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A part that stays PENDING under a load balancer ACTIVE is reported, and not waited for forever.
func TestWarnStuckParts(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeChildrenStuck})
		svc := service()
		r.ensure(svc)
		r.restart()
		svc.Spec.Ports[0].NodePort = 31111
		ctx, cancel := contextWithTimeout(r.t, time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes); err == nil {
			t.Error("a member of a pool that stays PENDING was changed")
		}
		if took := time.Since(began); took > 45*time.Second {
			t.Errorf("it took %s to give up", took)
		}
		r.wantEvent("stays PENDING_CREATE although its load balancer is ACTIVE")
		r.sim.Unstick()
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// Today the two ways to change a guest's health monitors rename each other's.
func TestGuestMonitorsKeepNames(t *testing.T) {
	bubble(t, sim.Options{}, Settings{CreateMonitor: true}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID))
		r.ensure(guest)
		name := r.monitor(8080).Name
		if want := "monitor_0_" + lbName("guest"); name != want {
			t.Errorf("the monitor's name is %s, want %s", name, want)
		}
		r.sim.Front().Log().Reset()
		r.update(guest)
		r.steady(guest)
		if m := r.mutations(); len(m) > 0 || r.monitor(8080).Name != name {
			t.Errorf("changes %v, name %s", m, r.monitor(8080).Name)
		}
		r.remove(guest)
		r.remove(owner)
		r.nothing()
	})
}

// interrupted starts the creation of a load balancer with a manager that is killed before its end.
func (r *rig) interrupted(svc *v1.Service) {
	r.t.Helper()
	ctx, cancel := contextWithTimeout(r.t, 5*time.Second)
	defer cancel()
	if _, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes); err == nil {
		r.t.Fatal("ready before its time")
	}
	r.restart()
}

// A manager that was killed while its load balancer was being created finds it, and waits for it.
func TestResumeInterruptedCreation(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: 30 * time.Second}, Settings{}, func(r *rig) {
		svc := service()
		r.interrupted(svc)
		r.ensure(svc)
		if lb := r.balancer(); lb.ProvisioningStatus != "ACTIVE" {
			t.Errorf("the status of the Service was set while the load balancer is %s", lb.ProvisioningStatus)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A Service can be deleted while its load balancer is being created, or being deleted by another client.
func TestDeletePendingLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: 30 * time.Second, SettleTime: 10 * time.Second}, Settings{}, func(r *rig) {
		svc := service()
		r.interrupted(svc)
		r.remove(svc)
		r.nothing()
		r.ensure(svc)
		if err := r.api.DeleteLoadBalancer(r.t.Context(), r.balancer().ID, true); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.remove(svc)
		r.nothing()
	})
}

// A tool that applies manifests removes the annotation with the ID. A load balancer that worked and is in ERROR waits for
// an approval all the same: its status shows that its creation did not fail.
func TestFailedLoadBalancerWithoutIDIsKept(t *testing.T) {
	for _, hostname := range []string{"", "web.example.org"} {
		t.Run("host name "+hostname, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				if hostname != "" {
					annotate("hostname", hostname)(svc)
				}
				r.ensure(svc)
				lb := r.balancer()
				if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Error); err != nil {
					r.t.Fatal(err)
				}
				r.restart()
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 || r.balancer().ID != lb.ID {
					r.t.Errorf("changes without an approval: %v", m)
				}
				r.wantEvent("held")
				if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Active); err != nil {
					r.t.Fatal(err)
				}
				r.restart()
				r.remove(svc)
				r.nothing()
			})
		})
	}
}
