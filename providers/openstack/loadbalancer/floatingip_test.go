package loadbalancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func (r *rig) fips() []api.FloatingIP {
	r.t.Helper()
	list, err := r.api.ListFloatingIPs(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// takeFIP makes a floating IP as a person does.
func (r *rig) takeFIP() api.FloatingIP {
	r.t.Helper()
	f, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{FloatingNetworkID: r.sim.Places().PublicNetwork, Description: "mine"})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *rig) dropFIPs() {
	r.t.Helper()
	for _, f := range r.fips() {
		if err := r.api.DeleteFloatingIP(r.t.Context(), f.ID); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestInternalAnnotationReleasesFloatingIP(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		status := r.ensure(svc)
		fips := r.fips()
		if len(fips) != 1 || status.Ingress[0].IP != fips[0].FloatingIP || *status.Ingress[0].IPMode != v1.LoadBalancerIPModeVIP {
			t.Fatalf("status %+v, floating IPs %+v", status, fips)
		}
		if want := "Floating IP for Kubernetes external service default/web from cluster kubernetes"; fips[0].Description != want {
			t.Errorf("description %q, want %q", fips[0].Description, want)
		}
		r.steady(svc)
		internal(svc)
		if status := r.ensure(svc); status.Ingress[0].IP != r.balancer().VipAddress {
			t.Errorf("internal status %+v", status)
		}
		if n := len(r.fips()); n != 0 {
			t.Errorf("%d floating IPs although the load balancer is internal", n)
		}
		r.steady(svc)
		delete(svc.Annotations, annotation.KeyInternal)
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestKeptFloatingIPOutlivesItsService(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("keep-floatingip", "true"))
		r.ensure(svc)
		r.steady(svc)
		svc.Annotations = nil // the Service that is deleted need not be the one that was created
		r.restart()
		r.remove(svc)
		fips := r.fips()
		if len(fips) != 1 || fips[0].PortID != "" || !slices.Contains(fips[0].Tags, names.KeepTag) {
			t.Fatalf("kept %+v", fips)
		}
		if _, exists, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, svc); exists || err != nil {
			t.Errorf("something is left: %v, %v", exists, err)
		}
		again := service()
		if status := r.ensure(again); status.Ingress[0].IP != fips[0].FloatingIP {
			t.Errorf("a Service of the same name gets %s, want the kept %s", status.Ingress[0].IP, fips[0].FloatingIP)
		}
		r.remove(again)
		r.nothing()
	})
}

func TestUserFloatingIPIsAttachedAndKept(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		mine := r.takeFIP()
		svc := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = mine.FloatingIP })
		if status := r.ensure(svc); status.Ingress[0].IP != mine.FloatingIP {
			t.Errorf("status %+v, want %s", status, mine.FloatingIP)
		}
		r.steady(svc)
		// Another address, on a live Service: clients follow, nothing leaks.
		other := r.takeFIP()
		svc.Spec.LoadBalancerIP = other.FloatingIP
		if status := r.ensure(svc); status.Ingress[0].IP != other.FloatingIP {
			t.Errorf("status %+v, want %s", status, other.FloatingIP)
		}
		r.steady(svc)
		r.remove(svc)
		if n := len(r.fips()); n != 2 {
			t.Errorf("%d of the user's 2 floating IPs are left", n)
		}
		r.dropFIPs()
	})
}

func TestRejectFloatingIPInUse(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		other := service(named("other"))
		address := r.ensure(other).Ingress[0].IP
		svc := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = address })
		r.ensureError(svc, address, "in use")
		if n := r.sim.Objects()["load-balancers"]; n != 1 {
			t.Errorf("%d load balancers: one was made before the problem was found", n)
		}
	})
}

// A Service that works keeps its floating IP, and gets all other changes, while the one that it requests is in use. One
// that has none fails, and gets all other changes too.
func TestFloatingIPInUseHoldsOneChange(t *testing.T) {
	for _, isInternal := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			other := service(named("other"))
			taken := r.ensure(other).Ingress[0].IP
			svc := service()
			if isInternal {
				internal(svc)
			}
			address := r.ensure(svc).Ingress[0].IP
			delete(svc.Annotations, annotation.KeyInternal)
			svc.Spec.LoadBalancerIP = taken
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 30088})
			if isInternal {
				r.ensureError(svc, taken, "in use")
			} else {
				if got := r.ensure(svc).Ingress[0].IP; got != address {
					t.Errorf("the address is %s, was %s", got, address)
				}
				r.wantEvent("in use")
				r.steady(svc)
			}
			if n := r.sim.Objects()["listeners"]; n != 5 {
				t.Errorf("internal %t: %d listeners, want those of 2 and 3 ports", isInternal, n)
			}
			r.remove(other)
			r.restart()
			svc.Spec.LoadBalancerIP = ""
			r.ensure(svc)
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	}
}

// The address of an internal load balancer at a port is one of the port's: Octavia checks that.
func TestInternalAddressAtPort(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		port, err := ports.Create(t.Context(), connect(t, r.front, r.sim.Account()).services[api.Network], ports.CreateOpts{
			NetworkID: r.sim.Places().PrivateNetwork, FixedIPs: []ports.IP{{IPAddress: "10.0.44.44"}},
		}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		svc := service(internal, annotate("port-id", port.ID), func(s *v1.Service) { s.Spec.LoadBalancerIP = "10.0.44.45" })
		r.ensureError(svc, "VIP address not found on the specified VIP port")
		svc.Spec.LoadBalancerIP = "10.0.44.44"
		if got := r.ensure(svc).Ingress[0].IP; got != "10.0.44.44" {
			t.Errorf("the address is %s", got)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestFloatingSubnets(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		public := r.sim.Places().PublicNetwork
		dry, err := r.sim.AddSubnet(public, "tier-a", netip.MustParsePrefix("198.51.100.0/29"), "gold")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.sim.ExhaustSubnet(dry); err != nil {
			t.Fatal(err)
		}
		if _, err := r.sim.AddSubnet(public, "tier-b", netip.MustParsePrefix("203.0.113.0/28"), "gold", "spare"); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(*v1.Service){
			"glob":        annotate("floating-subnet", "tier-*"),
			"expression":  annotate("floating-subnet", "~tier-[ab]"),
			"tags":        annotate("floating-subnet-tags", "gold"),
			"all tags":    annotate("floating-subnet-tags", "&gold,spare"),
			"not pattern": annotate("floating-subnet", "!public*"),
		} {
			svc := service(change)
			if ip := r.ensure(svc).Ingress[0].IP; !strings.HasPrefix(ip, "203.0.113.") {
				t.Errorf("%s: %s is not of the subnet that has addresses left", name, ip)
			}
			r.remove(svc)
		}
		r.ensureError(service(annotate("floating-subnet", "none-*")), annotation.KeyFloatingSubnet, "none-*")
		r.remove(service())
		r.nothing()
	})
}

// Today's filters for several negated tags are swapped.
func TestFloatingSubnetsByNegatedTags(t *testing.T) {
	for _, tt := range []struct {
		filter string
		tags   []string
		want   bool
	}{
		{"a,b", []string{"b"}, true}, {"a,b", nil, false}, {"&a,b", []string{"a"}, false}, {"&a,b", []string{"a", "b", "c"}, true},
		{"!a,b", []string{"b"}, false}, {"!a,b", []string{"c"}, true}, {"!&a,b", []string{"a"}, true}, {"!&a,b", []string{"a", "b"}, false},
	} {
		if got := annotation.ParseTagFilter(tt.filter).Match(tt.tags); got != tt.want {
			t.Errorf("%s matches %q: %v, want %v", tt.filter, tt.tags, got, tt.want)
		}
	}
}

func TestDeleteOrphansOfDeletedLoadBalancer(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
			t.Fatal(err)
		}
		r.restart()
		if _, exists, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, svc); !exists || err != nil {
			t.Fatalf("orphanedFloatingIPs are not reported: %v, %v", exists, err)
		}
		r.remove(svc)
		r.nothing()
	})
}

func TestEmptyFloatingNetworkIgnoresTheConfiguredOne(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.settings.FloatingNetworkID = ""
		r.restart()
		svc := service()
		r.ensure(svc) // the first external network
		r.remove(svc)
		r.settings.FloatingNetworkID = "8a7c6c2e-3d1f-4f67-9f5c-000000000000"
		r.restart()
		svc = service(annotate("floating-network-id", ""))
		r.ensure(svc) // an empty annotation ignores the configured network
		r.remove(svc)
		r.nothing()
	})
}

// TestFloatingIPThatWasExchangedByHandIsNotReleased exchanges the floating IP of a load balancer by hand. The address
// that the Service had is not given back without a cause.
func TestFloatingIPThatWasExchangedByHandIsNotReleased(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		port := r.balancer().VipPortID
		other := r.takeFIP()
		none := ""
		for _, f := range r.fips() {
			if f.FloatingIP == address {
				if _, err := r.api.UpdateFloatingIP(r.t.Context(), f.ID, floatingips.UpdateOpts{PortID: &none}); err != nil {
					r.t.Fatal(err)
				}
			}
		}
		if _, err := r.api.UpdateFloatingIP(r.t.Context(), other.ID, floatingips.UpdateOpts{PortID: &port}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.ensure(svc)
		r.ensure(svc)
		if !slices.ContainsFunc(r.fips(), hasAddress(address)) {
			r.t.Errorf("the floating IP %s is released", address)
		}
		r.approveHeld(svc)
		r.ensure(svc)
		if slices.ContainsFunc(r.fips(), hasAddress(address)) {
			r.t.Errorf("the floating IP %s is kept after the approval", address)
		}
		r.steady(svc)
		r.remove(svc)
		r.dropFIPs()
	})
}

// The floating IP that a user has attached by hand serves the load balancer that replaces its own, and not the one that
// it was exchanged for.
func TestReplacementGetsTheFloatingIPThatServes(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.setPort(r.addressed(r.ensure(svc).Ingress[0].IP), "")
		other := r.takeFIP()
		r.setPort(other, r.balancer().VipPortID)
		r.sleep(time.Hour)
		if got := r.ensure(svc).Ingress[0].IP; got != other.FloatingIP {
			t.Fatalf("the address is %s, want %s", got, other.FloatingIP)
		}
		annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != other.FloatingIP {
			t.Errorf("the address is %s, was %s", got, other.FloatingIP)
		}
		r.remove(svc)
		r.dropFIPs()
		r.nothing()
	})
}

// Of several floating IPs without a load balancer, the one that clients know is attached.
func TestKnownOrphanIsPreferred(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		first := r.addressed(r.ensure(svc).Ingress[0].IP)
		for range 3 {
			other := r.takeFIP()
			if _, err := r.api.UpdateFloatingIP(t.Context(), other.ID, floatingips.UpdateOpts{Description: &first.Description}); err != nil {
				t.Fatal(err)
			}
			for _, tag := range first.Tags {
				if err := r.api.AddTag(t.Context(), api.FloatingIPs, other.ID, tag); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
			t.Fatal(err)
		}
		r.restart()
		known := slices.MaxFunc(r.fips(), func(a, b api.FloatingIP) int { return strings.Compare(a.ID, b.ID) }).FloatingIP
		svc.Status.LoadBalancer.Ingress[0].IP = known
		if got := r.ensure(svc).Ingress[0].IP; got != known {
			t.Errorf("the address is %s, was %s", got, known)
		}
		if list := r.events(); slices.ContainsFunc(list, func(e string) bool { return strings.Contains(e, "delete floating IP "+known) }) {
			t.Errorf("events %q about %s, which serves", list, known)
		}
		r.remove(svc)
		r.nothing()
	})
}

func hasAddress(address string) func(api.FloatingIP) bool {
	return func(f api.FloatingIP) bool { return f.FloatingIP == address }
}
