package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// What has run dry is an error that says so, the Service can be deleted all the same, and it gets its
// load balancer as soon as there is room.
func TestQuotaExceeded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		quotas map[string]int
		error  string
	}{
		{"floating IPs", map[string]int{sim.QuotaFloatingIPs: 0}, "quota"},
		{"load balancers", map[string]int{sim.QuotaLoadBalancers: 0}, "quota"},
		{"listeners", map[string]int{sim.QuotaListeners: 1}, "quota"},
		{"pools", map[string]int{sim.QuotaPools: 1}, "quota"},
		{"members", map[string]int{sim.QuotaMembers: 1}, "Member"},
		{"health monitors", map[string]int{sim.QuotaHealthMonitors: 1}, "Health Monitor"},
		{"security groups", map[string]int{sim.QuotaGroups: 1}, "quota"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{Quotas: tt.quotas, SettleTime: 300 * time.Millisecond}, Settings{ManageSecurityGroups: true, CreateMonitor: true}, func(r *rig) {
				svc := service()
				r.ensureError(svc, tt.error)
				r.ensureError(svc, tt.error)
				r.remove(svc)
				r.nothing()
				r.sleep(apply.RefusalAge + time.Minute) // what refused creations left
			})
		})
	}
}

// The subnet of floating IPs is full: the load balancer is there, its address is not, and nothing is
// made twice. When an address is free again, the Service gets it.
func TestFloatingSubnetExhausted(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		if err := r.sim.ExhaustSubnet(r.sim.Places().PublicSubnet); err != nil {
			t.Fatal(err)
		}
		svc := service()
		for range 3 {
			r.ensureError(svc, "quota")
		}
		if o := r.sim.Objects(); o["load-balancers"] != 1 || o["floating-ips"] != 0 {
			t.Errorf("%d load balancers, %d floating IPs", o["load-balancers"], o["floating-ips"])
		}
		// The person makes it internal instead.
		internal(svc)
		if ip := r.ensure(svc).Ingress[0].IP; ip != r.balancer().VipAddress {
			t.Errorf("address %s", ip)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// The subnet of load balancers is full.
func TestVIPSubnetExhausted(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		if err := r.sim.ExhaustSubnet(r.sim.Places().PrivateSubnet); err != nil {
			t.Fatal(err)
		}
		svc := service()
		r.ensureError(svc)
		r.remove(svc)
		r.nothing()
	})
}

// Neutron's extensions can be switched off. The load balancer then works without what they add, or an Event reports what
// is missing.
func TestNeutronWithoutExtensions(t *testing.T) {
	for _, extension := range []string{"standard-attr-tag", "standard-attr-revisions", "standard-attr-timestamp", "port-security", "allowed-address-pairs"} {
		t.Run(extension, func(t *testing.T) {
			bubble(t, sim.Options{WithoutExtensions: []string{extension}}, Settings{ManageSecurityGroups: true}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				r.launch("another")
				r.update(svc)
				r.sim.Front().Log().Reset()
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes where there are none to make: %v", m)
				}
				annotate("keep-floatingip", "true")(svc)
				r.ensure(svc)
				r.remove(svc)
				if fips := r.fips(); len(fips) != 1 || fips[0].PortID != "" {
					t.Errorf("floating IPs %+v, want a kept one", fips)
				}
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// A Service can always be deleted, whatever has become of its load balancer.
func TestDeleteAlwaysSucceeds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		becomes func(*rig, *v1.Service)
	}{
		{"gone", func(r *rig, _ *v1.Service) {
			if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
				r.t.Fatal(err)
			}
		}},
		{"in ERROR", func(r *rig, _ *v1.Service) {
			if err := r.sim.SetLoadBalancerStatus(lbName("web"), "ERROR"); err != nil {
				r.t.Fatal(err)
			}
		}},
		{"its parts in ERROR", func(r *rig, svc *v1.Service) {
			r.sim.SetOutcomes(sim.OutcomeRule{Outcome: sim.OutcomeChildrenError, Times: -1})
			svc.Spec.Ports[0].NodePort = 31111
			r.ensure(svc)
			r.sim.SetOutcomes()
		}},
		{"without a pool", func(r *rig, _ *v1.Service) {
			if err := r.api.DeleteListener(r.t.Context(), r.listener(80).ID); err != nil {
				r.t.Fatal(err)
			}
			for _, p := range r.pools() {
				if strings.HasPrefix(p.Name, "pool_0_") {
					if err := r.api.DeletePool(r.t.Context(), p.ID); err != nil {
						r.t.Fatal(err)
					}
				}
			}
		}},
		{"without its annotations", func(_ *rig, svc *v1.Service) { svc.Annotations = nil }},
		{"with bad annotations", func(_ *rig, svc *v1.Service) { annotate("subnet-id", "x", "class", "none", "proxy-protocol", "?")(svc) }},
		{"with another ID", func(_ *rig, svc *v1.Service) {
			annotate("load-balancer-id", "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")(svc)
		}},
		{"without its floating IP", func(r *rig, _ *v1.Service) { r.dropFIPs() }},
	} {
		for _, driver := range []string{"amphora", model.ProviderOVN} {
			t.Run(fmt.Sprintf("%s, %s", tt.name, driver), func(t *testing.T) {
				t.Parallel()
				bubble(t, sim.Options{}, Settings{Provider: driver, ManageSecurityGroups: true}, func(r *rig) {
					svc := service()
					r.ensure(svc)
					annotate("load-balancer-id", r.balancer().ID)(svc)
					tt.becomes(r, svc)
					r.restart()
					r.remove(svc)
					r.nothing()
				})
			})
		}
	}
}

func (r *rig) pools() []api.Pool {
	r.t.Helper()
	list, err := r.api.ListPools(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// A Service that Octavia would reject gets an Event before anything is created.
func TestRejectWhatOctaviaRefuses(t *testing.T) {
	udp := func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1]; s.Spec.Ports[0].Protocol = v1.ProtocolUDP }
	for _, tt := range []struct {
		name    string
		service []func(*v1.Service)
		texts   []string
	}{
		{"PROXY protocol for UDP alone", also(udp, annotate("proxy-protocol", "true")), []string{"proxy-protocol", "no TCP port"}},
		{"X-Forwarded-For for UDP alone", also(udp, annotate("x-forwarded-for", "true")), []string{"x-forwarded-for", "no TCP port"}},
		{"TLS for UDP alone", also(udp, annotate("default-tls-container-ref", "http://h/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")), []string{"default-tls-container-ref", "no TCP port"}},
		{"probes of UDP too often", also(udp, annotate("enable-health-monitor", "true", "health-monitor-delay", "1")), []string{"health-monitor-delay", "3s"}},
		{"a bad algorithm", also(annotate("lb-method", "RANDOM")), []string{"lb-method", "RANDOM"}},
		{"too many retries", also(annotate("health-monitor-max-retries", "11")), []string{"health-monitor-max-retries", "10"}},
		{"a bad range", also(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/33"} }), []string{"loadBalancerSourceRanges", "10.0.0.0/33"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				r.ensureError(service(tt.service...), tt.texts...)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("made %v", m)
				}
				if o := r.sim.Objects(); o["load-balancers"] > 0 {
					t.Error("a load balancer was made")
				}
			})
		})
	}
	// Ranges of both families are not mixed in one listener, which Octavia refuses.
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.ensure(service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "2001:db8::/32"} }))
		if l := r.listener(80); !slices.Equal(l.AllowedCIDRs, []string{"10.0.0.0/8"}) {
			t.Errorf("allowed %q", l.AllowedCIDRs)
		}
	})
}

// A load balancer without an address of the family of its source ranges is closed: an empty list would open it.
func TestRangesOfAnotherFamilyCloseTheListener(t *testing.T) {
	dualStack := func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }
	for name, restrict := range map[string]func(*v1.Service){
		"of the Service": func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"2001:db8::/32"} },
		"of the port":    annotate(intent.KeyPortSourceRanges, "http=2001:db8::/32"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true, OctaviaVersion: "2.25"}, Settings{}, func(r *rig) {
				svc := service(internal, dualStack, restrict)
				r.ensure(svc)
				if l := r.listener(80); !slices.Equal(l.AllowedCIDRs, []string{"0.0.0.0/32"}) {
					t.Errorf("allowed %q", l.AllowedCIDRs)
				}
				r.steady(svc)
			})
		})
	}
}
