package loadbalancer

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// An internal load balancer that is replaced for another flavor keeps its own address, also if the manager ends while
// Octavia deletes it, if the creation fails once, or if Octavia fails to build the next one. That has never worked,
// although the Service's status has its address: it is replaced without an approval.
func TestInterruptedReplacementKeepsOwnAddress(t *testing.T) {
	fault := func(f kit.Fault) func(*rig, *v1.Service) {
		return func(r *rig, svc *v1.Service) {
			r.front.SetFaults(f)
			r.ensureError(svc)
			r.front.SetFaults()
		}
	}
	for name, tt := range map[string]struct {
		options   sim.Options
		interrupt func(*rig, *v1.Service)
	}{
		"a deletion": {sim.Options{SettleTime: time.Minute}, func(r *rig, svc *v1.Service) {
			ctx, cancel := contextWithTimeout(r.t, 5*time.Second)
			defer cancel()
			if _, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes); err == nil {
				r.t.Error("no error")
			}
			r.restart()
			r.ensure(svc)
		}},
		"throttling":   {sim.Options{}, fault(kit.Fault{Kind: kit.FaultThrottle, Operation: "CreateLoadBalancer"})},
		"a lost reply": {sim.Options{}, fault(kit.Fault{Kind: kit.FaultLostReply, Operation: "CreateLoadBalancer"})},
		"failed builds": {sim.Options{}, func(r *rig, svc *v1.Service) {
			for range 3 {
				r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError})
				r.ensureError(svc, "ERROR")
				r.sleep(time.Hour)
			}
			r.sim.SetOutcomes()
		}},
		"a failed build, seen later": {sim.Options{ProvisionTime: time.Minute}, func(r *rig, svc *v1.Service) {
			r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError})
			ctx, cancel := contextWithTimeout(r.t, 20*time.Second)
			defer cancel()
			if _, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes); err == nil {
				r.t.Error("no error")
			}
			r.sim.SetOutcomes()
			r.restart()
			r.ensureError(svc, "ERROR")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.options, Settings{}, func(r *rig) {
				svc := service(internal)
				address := r.ensure(svc).Ingress[0].IP
				r.large(svc)
				tt.interrupt(r, svc)
				r.sleep(3 * time.Minute)
				got := r.ensure(svc).Ingress[0].IP
				lb := r.balancer()
				if got != address || lb.VipAddress != address || lb.ProvisioningStatus != api.Active {
					t.Errorf("address %s of %s, %s, want %s", got, lb.VipAddress, lb.ProvisioningStatus, address)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A load balancer that has worked and fails later is no failed creation: its failover needs an approval.
func TestFailureOfBuiltLoadBalancerIsHeld(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		r.ensure(svc)
		r.large(svc)
		r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError})
		r.ensureError(svc)
		r.sim.SetOutcomes()
		lb := r.balancer()
		for _, state := range []string{api.Active, api.Error} { // An operator repairs it, and it fails again.
			if err := r.sim.SetLoadBalancerStatus(lbName("web"), state); err != nil {
				t.Fatal(err)
			}
			r.sleep(time.Hour)
			r.ensure(svc)
		}
		if got := r.balancer(); got.ID != lb.ID || got.ProvisioningStatus != api.Error {
			t.Errorf("load balancer %s is %s, want %s", got.ID, got.ProvisioningStatus, lb.ID)
		}
		r.wantEvent("held")
	})
}

// A Service that is deleted and created again gets any address, also if its load balancer was being replaced.
func TestRecreatedServiceHasAnotherAddress(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		address := r.ensure(svc).Ingress[0].IP
		r.large(svc)
		r.front.SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "CreateLoadBalancer"})
		r.ensureError(svc)
		r.front.SetFaults()
		r.remove(svc)
		again := service(internal, func(s *v1.Service) { s.UID = "22222222-2222-3333-4444-555555555555" })
		if got := r.ensure(again).Ingress[0].IP; got == address {
			t.Errorf("the address is %s again", got)
		}
		r.remove(again)
		r.nothing()
	})
}

// refusing is an Octavia that refuses creations with an address of their own.
type refusing struct {
	*api.Clients
	status int
	// refused is the number of refused creations.
	refused *int
}

func (c refusing) CreateLoadBalancer(ctx context.Context, spec loadbalancers.CreateOpts) (api.LoadBalancer, error) {
	if spec.VipAddress == "" {
		return c.Clients.CreateLoadBalancer(ctx, spec)
	}
	*c.refused++
	return api.LoadBalancer{}, oserr.Wrap(api.LoadBalancing, "CreateLoadBalancer", time.Now(),
		gophercloud.ErrUnexpectedResponseCode{Method: http.MethodPost, Actual: c.status,
			Body: []byte(`{"faultcode": "Client", "faultstring": "IP address is not available"}`)})
}

// The next load balancer gets any address if Octavia refuses that of the one that it replaces.
func TestRefusedOwnAddressIsGivenUp(t *testing.T) {
	for _, status := range []int{400, 403, 409, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				refused := 0
				r.wrap = func(own *api.Clients) API { return refusing{own, status, &refused} }
				r.restart()
				svc := service(internal)
				r.ensure(svc)
				r.large(svc)
				r.ensureError(svc, "IP address is not available")
				r.ensure(svc)
				if refused != 1 {
					t.Errorf("%d creations were refused", refused)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}
