package loadbalancer

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// left makes what today's manager leaves behind for a Service: its names, tags and descriptions, and no mark of ours.
func (r *rig) left(svc *v1.Service, name string, tagged bool) api.CreatedLoadBalancer {
	r.t.Helper()
	of := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	spec := api.LoadBalancerSpec{Name: name, Description: names.LoadBalancerDescription(clusterName, of), VIPSubnetID: r.sim.Places().PrivateSubnet}
	tag := names.LoadBalancer(clusterName, of)
	if tagged {
		spec.Tags = []string{tag}
	}
	limit, client, connect, inspect := -1, 50000, 5000, 0
	for i, p := range svc.Spec.Ports {
		pool := api.PoolSpec{Name: names.Pool(i, name), Protocol: "TCP", Algorithm: "ROUND_ROBIN"}
		for _, n := range r.nodes {
			pool.Members = append(pool.Members, api.MemberSpec{Name: n.Name, Address: nodeAddress(n, v1.IPv4Protocol), Port: int(p.NodePort), SubnetID: spec.VIPSubnetID})
		}
		slices.Reverse(pool.Members) // in any order
		listener := api.ListenerSpec{
			Name: names.Listener(i, name), Protocol: "TCP", Port: int(p.Port), ConnectionLimit: &limit, AllowedCIDRs: []string{"0.0.0.0/0"},
			TimeoutClientData: &client, TimeoutMemberData: &client, TimeoutMemberConnect: &connect, TimeoutTCPInspect: &inspect, DefaultPool: &pool,
		}
		if tagged {
			listener.Tags = []string{tag}
		}
		spec.Listeners = append(spec.Listeners, listener)
	}
	lb, err := r.api.CreateLoadBalancer(r.t.Context(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = r.api.CreateFloatingIP(r.t.Context(), api.FloatingIPSpec{NetworkID: r.sim.Places().PublicNetwork, PortID: lb.VIPPortID, Description: names.FloatingIPDescription(clusterName, of)})
	if err != nil {
		r.t.Fatal(err)
	}
	return lb
}

func TestAdoption(t *testing.T) {
	for _, tt := range []struct {
		name     string
		lb       string
		tagged   bool
		noted    bool
		changes  []string
		provider string
	}{
		{name: "today's", lb: lbName("web"), tagged: true, noted: true, changes: []string{"AddTag", "UpdateLoadBalancer"}},
		{name: "its annotation is lost", lb: lbName("web"), tagged: true, changes: []string{"AddTag", "UpdateLoadBalancer"}},
		{name: "before there were tags", lb: lbName("web"), noted: true, changes: []string{"AddTag", "UpdateListener", "UpdateListener", "UpdateLoadBalancer"}},
		// Today its own Service is taken for a guest once the annotation is written, and it is never deleted.
		{name: "of the name of old", lb: names.LegacyLoadBalancer(service().UID), tagged: true, noted: true, changes: []string{"AddTag", "UpdateLoadBalancer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				lb := r.left(svc, tt.lb, tt.tagged)
				if tt.noted {
					annotate("load-balancer-id", lb.ID)(svc)
				}
				r.sim.Front().Log().Reset()
				address := r.ensure(svc).Ingress[0].IP
				changes := r.mutations()
				slices.Sort(changes)
				if !slices.Equal(changes, tt.changes) {
					t.Errorf("changes %v, want %v", changes, tt.changes)
				}
				if address != r.fips()[0].Address {
					t.Errorf("address %s", address)
				}
				if got := r.balancer(); got.ID != lb.ID || got.Name != tt.lb || names.ClusterUID(got.Tags) != clusterUID {
					t.Errorf("load balancer %+v", got)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// What we leave is what today's manager would look for.
func TestRollback(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		lb, of := r.balancer(), types.NamespacedName{Namespace: "default", Name: "web"}
		if lb.Name != lbName("web") || !slices.Contains(lb.Tags, lbName("web")) || lb.Description != names.LoadBalancerDescription(clusterName, of) {
			t.Errorf("load balancer %+v", lb)
		}
		if l := r.listener(80); l.Name != "listener_0_"+lbName("web") || !slices.Equal(l.Tags, []string{lbName("web")}) {
			t.Errorf("listener %+v", l)
		}
		if p := r.pool(443); p.Name != "pool_1_"+lbName("web") {
			t.Errorf("pool %+v", p)
		}
		if m := r.membersAt(80); !slices.ContainsFunc(m, func(m api.Member) bool { return m.Name == "node-0" && m.SubnetID == r.sim.Places().PrivateSubnet }) {
			t.Errorf("members %+v", m)
		}
		r.remove(svc)
		r.nothing()
	})
}

func TestAddressFamilies(t *testing.T) {
	t.Run("both", func(t *testing.T) {
		bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
			svc := service(internal, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} })
			status := r.ensure(svc)
			if len(status.Ingress) != 2 || familyOf(status.Ingress[0].IP) != v1.IPv4Protocol || familyOf(status.Ingress[1].IP) != v1.IPv6Protocol {
				t.Fatalf("status %+v", status)
			}
			if cidrs := r.listener(80).AllowedCIDRs; len(cidrs) != 2 {
				t.Errorf("allowed %q", cidrs)
			}
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	})
	t.Run("both, in a network with one", func(t *testing.T) {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			svc := service(internal, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} })
			if status := r.ensure(svc); len(status.Ingress) != 1 {
				t.Errorf("status %+v", status)
			}
			r.ensure(svc)
			r.wantEvent("no IPv6 address")
			r.steady(svc)
		})
	})
	t.Run("IPv6", func(t *testing.T) {
		bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
			svc := service(annotate("subnet-id", r.sim.Places().PrivateSubnet6), func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} })
			status := r.ensure(svc)
			if len(status.Ingress) != 1 || familyOf(status.Ingress[0].IP) != v1.IPv6Protocol || len(r.fips()) != 0 {
				t.Errorf("status %+v", status)
			}
			r.steady(svc)
		})
	})
}

func TestPlacement(t *testing.T) {
	const a, b, c, d = "a", "b", "c", "d"
	own := func(s string) *string { return &s }
	for _, tt := range []struct {
		name                   string
		internal               bool
		own                    *string
		class, configured      string
		wantSubnet, wantMember string
	}{
		{name: "the configuration's", configured: a, wantSubnet: a, wantMember: a},
		{name: "the Service's own before the configuration's", own: own(b), configured: a, wantSubnet: b, wantMember: a},
		{name: "the class's before the Service's own, external", own: own(b), class: c, configured: a, wantSubnet: c, wantMember: a},
		{name: "the Service's own before the class's, internal", internal: true, own: own(b), class: c, configured: a, wantSubnet: b, wantMember: a},
		{name: "the nodes'", wantSubnet: d, wantMember: d},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := wisher{settings: Settings{Place: Place{SubnetID: tt.configured}}, class: Place{SubnetID: tt.class}, internal: tt.internal, around: Surroundings{nodeSubnet: d}}
			w.in.Families = []v1.IPFamily{v1.IPv4Protocol}
			w.options.Place.SubnetID = tt.own
			lb := w.loadBalancer()
			if lb.SubnetID != tt.wantSubnet || w.memberSubnet(lb) != tt.wantMember {
				t.Errorf("subnet %q, of members %q; want %q, %q", lb.SubnetID, w.memberSubnet(lb), tt.wantSubnet, tt.wantMember)
			}
		})
	}
}

func TestStatusForms(t *testing.T) {
	bubble(t, sim.Options{}, Settings{IngressHostname: true}, func(r *rig) {
		svc := service(annotate("proxy-protocol", "true"))
		if in := r.ensure(svc).Ingress[0]; in.IP != "" || in.Hostname != r.fips()[0].Address+".nip.io" {
			t.Errorf("status %+v", in)
		}
		r.settings.IngressHostname = false
		r.restart()
		if in := r.ensure(svc).Ingress[0]; *in.IPMode != v1.LoadBalancerIPModeProxy {
			t.Errorf("status %+v", in)
		}
		annotate("hostname", "web.example.org")(svc)
		if in := r.ensure(svc).Ingress[0]; in.Hostname != "web.example.org" || in.IP != "" {
			t.Errorf("status %+v", in)
		}
		r.remove(svc)
	})
}
