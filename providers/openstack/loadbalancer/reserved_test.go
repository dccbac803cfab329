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
