package loadbalancer

import (
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A replaced load balancer that Octavia fails to delete is in the state ERROR and half deleted: its
// deletion goes on without an approval.
func TestFailedDeletionOfReplacedLoadBalancerGoesOn(t *testing.T) {
	for _, isInternal := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			svc := service()
			if isInternal {
				internal(svc)
			}
			address := r.ensure(svc).Ingress[0].IP
			id := r.balancer().ID
			annotate("load-balancer-id", id)(svc)
			r.ensure(svc)
			r.sim.SetOutcomes(sim.OutcomeRule{Outcome: sim.OutcomeError, Operation: "DeleteLoadBalancer"})
			r.large(svc)
			r.ensureError(svc, "instead of deleted")
			r.sleep(time.Minute)
			if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID == id {
				t.Errorf("the address is %s, was %s; load balancer %s, was %s", got, address, r.balancer().ID, id)
			}
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	}
}
