package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// What no load balancer can change in place replaces one that is the Service's alone, and keeps its
// floating IP.
func TestReplaceLoadBalancer(t *testing.T) {
	for _, tt := range []struct {
		name string
		to   func(*rig, *v1.Service)
	}{
		{"flavor", func(r *rig, s *v1.Service) { annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(s) }},
		{"availability zone", func(_ *rig, s *v1.Service) { annotate("availability-zone", "az-2")(s) }},
		{"error", func(r *rig, s *v1.Service) {
			if err := r.sim.SetLoadBalancerStatus(lbName("web"), "ERROR"); err != nil {
				r.t.Fatal(err)
			}
			r.restart()
			r.approveHeld(s)
			r.ensureError(s, "Octavia refuses the failover")
			r.approveHeld(s)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				address := r.ensure(svc).Ingress[0].IP
				id := r.balancer().ID
				annotate("load-balancer-id", id)(svc)
				tt.to(r, svc)
				if got := r.ensure(svc).Ingress[0].IP; got != address {
					t.Errorf("the floating IP is %s, was %s", got, address)
				}
				if r.balancer().ID == id {
					t.Error("the load balancer was not replaced")
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// The address of an internal load balancer is its own: a change replaces the load balancer, which
// today has no effect and no Event.
func TestReplaceInternalLoadBalancer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		to     func(*v1.Service)
		status string
	}{
		{"subnet", annotate("subnet-id", "{other-subnet}"), "10.9.0."},
		{"network", annotate("network-id", "{other-network}"), "10.9.0."},
		{"port", annotate("port-id", "{port}"), "10.0."},
		{"address", func(s *v1.Service) { s.Spec.LoadBalancerIP = "10.0.44.44" }, "10.0.44.44"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				r.name()
				svc := service(internal)
				r.ensure(svc)
				before := r.records(true)
				tt.to(svc)
				for key, value := range svc.Annotations {
					svc.Annotations[key] = r.named.Expand(value)
				}
				if got := r.ensure(svc).Ingress[0].IP; !strings.HasPrefix(got, tt.status) {
					t.Errorf("the address is %s, want %s…", got, tt.status)
				}
				if slices.Equal(before, r.records(true)) {
					t.Error("nothing changed")
				}
				r.steady(svc)
				r.remove(svc)
				if err := r.sim.DeleteLoadBalancer("shared"); err != nil {
					t.Fatal(err)
				}
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// Today's manager reads once where a load balancer shall be. A Service that has asked for another place
// since then keeps its load balancer when this manager takes over, and gets another after its next change.
func TestAdoptionKeepsPlace(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service(internal)
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		annotate("subnet-id", r.named.Expand("{other-subnet}"))(svc)
		before := r.records(true)
		r.restart()
		r.ensure(svc)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		if diff := cmp.Diff(before, r.records(true)); diff != "" {
			t.Errorf("what changed (-before +after):\n%s", diff)
		}
		r.wantEvent("no edit of the Service that was seen since the load balancer was taken over causes it")
		r.restart()
		r.steady(svc)

		svc.Spec.LoadBalancerIP = "10.9.0.44"
		r.ensure(svc)
		if got := r.made(); got.ID != lb.ID {
			t.Errorf("load balancer %+v, which an address in a held subnet does not replace", got)
		}
		r.approveHeld(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != "10.9.0.44" {
			t.Errorf("the address is %s: an approved change of the place has no effect", got)
		}
		r.steady(svc)
		r.remove(svc)
		if err := r.sim.DeleteLoadBalancer("shared"); err != nil {
			t.Fatal(err)
		}
		r.dropFIPs()
		r.nothing()
	})
}
