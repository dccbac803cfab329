package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// After a change of --cluster-name, a load balancer is renamed only if the mark of this cluster proves its owner. One that
// another manager made has no mark: the ID in the Service is written by users, and may be that of another cluster's.
func TestLoadBalancerWithoutMarkIsNotRenamed(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.cluster = "renamed"
		r.restart()
		r.ensureError(svc, lb.ID)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		if now := r.balancer(); now.Name != lb.Name {
			t.Errorf("the name is %s, was %s", now.Name, lb.Name)
		}
		r.clear()
	})
}
