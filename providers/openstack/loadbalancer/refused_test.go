package loadbalancer

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// attached returns the floating IP of the only load balancer; "" for none.
func (r *rig) attached() string {
	r.t.Helper()
	lb := r.balancer()
	for _, f := range r.fips() {
		if f.PortID == lb.VipPortID {
			return f.FloatingIP
		}
	}
	return ""
}

// The floating IP of a load balancer that stays does not depend on the replacement that is refused.
func TestRefusedReplacementHasItsFloatingIP(t *testing.T) {
	for name, edit := range map[string]func(*rig, *v1.Service) (want string){
		"exchange": func(r *rig, s *v1.Service) string {
			s.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
			return s.Spec.LoadBalancerIP
		},
		"none yet": func(r *rig, _ *v1.Service) string {
			r.dropFIPs()
			r.restart()
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				id := r.balancer().ID
				annotate("subnet-id", r.addPlace("v6", "2001:db8:b::/64").v6)(svc)
				want := edit(r, svc)
				r.sleep(time.Minute) // the subnets are read again
				r.ensureError(svc, annotation.KeySubnetID, "has no IPv4 subnet")
				if got := r.attached(); r.balancer().ID != id || got == "" || want != "" && got != want {
					t.Errorf("load balancer %s with the floating IP %q, want %s with %q", r.balancer().ID, got, id, want)
				}
				r.remove(svc)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// The new name of a load balancer does not wait for a replacement that is refused.
func TestRefusedReplacementIsRenamed(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		lb := r.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.cluster = "renamed"
		internal(svc)
		svc.Spec.LoadBalancerIP = "192.0.2.44"
		r.ensureError(svc, "one of its subnet")
		r.wantRenamed(lb)
		if got := r.attached(); got != address {
			t.Errorf("the floating IP is %q, was %s", got, address)
		}
		r.remove(svc)
		r.nothing()
	})
}

// The plan shows why a replacement is refused.
func TestPlanOfRefusedReplacement(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		r.ensure(svc)
		svc.Spec.LoadBalancerIP = "192.0.2.44"
		todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(todo.Changes, func(c plan.Change) bool { return c.Action == plan.Delete })
		if i < 0 || !strings.Contains(todo.Changes[i].Reason, "one of its subnet") {
			t.Errorf("changes %+v", todo.Changes)
		}
		r.remove(svc)
		r.nothing()
	})
}
