package loadbalancer

import (
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestInternalLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: time.Second, SettleTime: 200 * time.Millisecond}, Settings{}, func(r *rig) {
		svc := service(internal)
		status := r.ensure(svc)
		if len(status.Ingress) != 1 || status.Ingress[0].IP != r.balancer().VipAddress {
			t.Errorf("status %+v", status)
		}
		lbs := r.sim.LoadBalancers()
		if len(lbs) != 1 || len(lbs[0].Listeners) != 2 || len(lbs[0].Listeners[0].Members) != 3 || !lbs[0].Internal {
			t.Fatalf("made %+v", lbs)
		}
		r.steady(svc)
		r.launch("node-3")
		r.update(svc)
		if m := r.sim.LoadBalancers()[0].Listeners[1].Members; len(m) != 4 {
			t.Errorf("members %v", m)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
