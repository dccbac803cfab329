package loadbalancer

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// ofTenant moves a Service to the namespace of another tenant.
func ofTenant(svc *v1.Service) { svc.Namespace = "tenant" }

// The floating IP and the port of a Service are free in Neutron while its load balancer is replaced. Another Service
// that names them does not get them.
func TestOtherServiceTakesNoAddressDuringReplacement(t *testing.T) {
	byAddress := func(_ *rig, victim, thief *v1.Service) {
		thief.Spec.LoadBalancerIP = victim.Status.LoadBalancer.Ingress[0].IP
	}
	byPort := func(r *rig, _, thief *v1.Service) { annotate("port-id", r.balancer().VipPortID)(thief) }
	for name, tt := range map[string]struct {
		create func(*rig) *v1.Service
		take   func(r *rig, victim, thief *v1.Service)
	}{
		"allocated floating IP": {floatingOwners["allocated"], byAddress},
		"kept floating IP":      {floatingOwners["kept"], byAddress},
		"a user's floating IP":  {floatingOwners["a user's"], byAddress},
		"a user's port": {func(r *rig) *v1.Service {
			return service(annotate("port-id", r.freePort()))
		}, byPort},
		"an address of its own": {
			func(*rig) *v1.Service { return service(internal) },
			func(r *rig, victim, thief *v1.Service) {
				byAddress(r, victim, thief)
				internal(thief)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				victim, thief := tt.create(r), service(named("thief"), ofTenant)
				address := r.ensure(victim).Ingress[0].IP
				tt.take(r, victim, thief)
				r.before("CreateLoadBalancer", func() { r.ensureError(thief, "default/web") })
				r.large(victim)
				if got := r.ensure(victim).Ingress[0].IP; got != address {
					t.Errorf("the address is %s, was %s", got, address)
				}
				r.sleep(time.Minute)
				r.ensureError(thief)
				r.remove(thief)
				r.steady(victim)
				r.remove(victim)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// A floating IP that was allocated for one Service is no other's, of this cluster or of another one, also if the manager
// ends in the replacement of its load balancer.
func TestOtherServiceTakesNoAllocatedAddressAfterInterruption(t *testing.T) {
	for name, of := range map[string]func(*rig){
		"this cluster":    func(*rig) {},
		"another cluster": func(r *rig) { r.uid, r.cluster = otherUID, "second" },
	} {
		for _, thiefName := range []string{"thief", "web"} {
			t.Run(name+", "+thiefName, func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					victim, thief := service(), service(named(thiefName))
					if name == "this cluster" || thiefName != "web" {
						ofTenant(thief)
					}
					address := r.ensure(victim).Ingress[0].IP
					thief.Spec.LoadBalancerIP = address
					r.front.OnKill(r.restartQuietly)
					r.front.SetFaults(kit.Fault{Kind: kit.FaultKillAfter, Operation: "DeleteLoadBalancer"})
					r.large(victim)
					r.ensureError(victim)
					r.front.Revive()
					r.sleep(time.Minute)
					of(r)
					r.restart()
					r.ensureError(thief, "default/web", "keep-floatingip", names.ClusterTag(clusterUID))
					r.uid, r.cluster = clusterUID, clusterName
					r.restart()
					if got := r.ensure(victim).Ingress[0].IP; got != address {
						t.Errorf("the address is %s, was %s", got, address)
					}
					of(r)
					r.remove(thief)
					r.uid, r.cluster = clusterUID, clusterName
					r.remove(victim)
					r.nothing()
				})
			})
		}
	}
}

// A floating IP that gives way in a replacement is free for others at once, and one of a Service that is deleted before
// it has another load balancer is free after a while.
func TestReservationEnds(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			mine := r.takeFIP()
			first := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = mine.FloatingIP })
			r.ensure(first)
			r.large(first)
			if deleted {
				r.front.SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "CreateLoadBalancer"})
				r.ensureError(first)
				r.remove(first)
				r.sleep(11 * time.Minute)
			} else {
				first.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
				r.ensure(first)
			}
			second := service(named("second"), func(s *v1.Service) { s.Spec.LoadBalancerIP = mine.FloatingIP })
			if got := r.ensure(second).Ingress[0].IP; got != mine.FloatingIP {
				t.Errorf("the address is %s, want %s", got, mine.FloatingIP)
			}
			r.remove(second)
			r.remove(first)
			r.dropFIPs()
			r.nothing()
		})
	}
}

// The floating IP of a user, and one that is kept, stay the Service's while its load balancer is replaced, also by a
// manager that starts in between, and while Octavia fails to build the next one.
func TestAddressStaysReserved(t *testing.T) {
	for name, tt := range map[string]struct {
		options sim.Options
		// interrupt ends with the load balancer that is replaced, or with the next one; while is a time in which another
		// Service names the address.
		interrupt func(r *rig, victim *v1.Service, steal func())
	}{
		"during a deletion": {sim.Options{ProvisionTime: time.Minute}, func(r *rig, victim *v1.Service, steal func()) {
			r.kill(victim, "DeleteLoadBalancer")
			r.before("CreateLoadBalancer", steal)
		}},
		"after a deletion": {sim.Options{ProvisionTime: time.Minute}, func(r *rig, victim *v1.Service, steal func()) {
			r.kill(victim, "DeleteLoadBalancer")
			r.sleep(10 * time.Minute)
			r.before("CreateLoadBalancer", steal)
		}},
		"after failed creations": {sim.Options{}, func(r *rig, victim *v1.Service, steal func()) {
			for range 6 {
				r.sleep(time.Hour)
				r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError})
				r.ensureError(victim)
			}
			r.sleep(50 * time.Minute)
			steal()
			r.sleep(15 * time.Minute)
			r.sim.SetOutcomes()
		}},
	} {
		for _, owner := range []string{"kept", "a user's"} {
			t.Run(name+", "+owner, func(t *testing.T) {
				bubble(t, tt.options, Settings{}, func(r *rig) {
					victim, thief := floatingOwners[owner](r), service(named("thief"), ofTenant)
					address := r.ensure(victim).Ingress[0].IP
					thief.Spec.LoadBalancerIP = address
					r.large(victim)
					tt.interrupt(r, victim, func() { r.ensureError(thief, "default/web") })
					if got := r.ensure(victim).Ingress[0].IP; got != address {
						t.Errorf("the address is %s, was %s", got, address)
					}
					r.remove(thief)
					r.steady(victim)
					r.remove(victim)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}

// kill ends the manager after a request.
func (r *rig) kill(svc *v1.Service, operation string) {
	r.t.Helper()
	r.front.OnKill(r.restartQuietly)
	r.front.SetFaults(kit.Fault{Kind: kit.FaultKillAfter, Operation: operation})
	r.ensureError(svc)
	r.front.Revive()
	r.front.SetFaults()
}
