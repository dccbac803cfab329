package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// made is the load balancer of the Service web, beside those that a test has created by hand.
func (r *rig) made() api.LoadBalancer {
	r.t.Helper()
	list, err := r.api.ListLoadBalancers(r.t.Context())
	at := slices.IndexFunc(list, func(lb api.LoadBalancer) bool { return lb.Name == lbName("web") })
	if err != nil || at < 0 {
		r.t.Fatalf("%d load balancers, %v", len(list), err)
	}
	return list[at]
}

// unname removes what name has made.
func (r *rig) unname() {
	r.t.Helper()
	if err := r.sim.DeleteLoadBalancer("shared"); err != nil {
		r.t.Fatal(err)
	}
	r.dropFIPs()
	r.nothing()
}

// Where a floating IP comes from is decided once: a later setting does not take a working Service's
// address from it, and is answered with one event, also by a manager that has just started.
func TestKeepFloatingIPWhenPlaceChanges(t *testing.T) {
	tiers := func(s *Settings) {
		s.Classes = map[string]Place{"gold": {FloatingSubnet: "tier-a"}, "silver": {FloatingSubnet: "!tier-*"}, "plain": {}}
	}
	for _, tt := range []struct {
		name           string
		before, after  map[string]string
		event          string
		another, quiet bool
	}{
		{name: "another subnet", before: map[string]string{annotation.KeyFloatingSubnet: "tier-a"}, after: map[string]string{annotation.KeyFloatingSubnet: "!tier-*"},
			event: annotation.KeyFloatingSubnet + ` "!tier-*" has no effect`, another: true},
		{name: "a subnet at last", after: map[string]string{annotation.KeyFloatingSubnet: "tier-a"}, event: annotation.KeyFloatingSubnet + ` "tier-a" has no effect`, another: true},
		{name: "other tags", before: map[string]string{annotation.KeyFloatingSubnetTags: "gold"}, after: map[string]string{annotation.KeyFloatingSubnetTags: "silver"},
			event: annotation.KeyFloatingSubnetTags + ` "silver" has no effect`},
		{name: "no subnet any more", before: map[string]string{annotation.KeyFloatingSubnet: "tier-a"}, event: "removing the annotations of the floating IP has no effect"},
		{name: "another class", before: map[string]string{annotation.KeyClass: "gold"}, after: map[string]string{annotation.KeyClass: "silver"},
			event: annotation.KeyClass + ` "silver" has no effect`, another: true},
		{name: "a network that it is of", after: map[string]string{annotation.KeyFloatingNetworkID: "{public}"}, event: annotation.KeyFloatingNetworkID + ` "{public}" has no effect`},
		{name: "a class that says nothing", after: map[string]string{annotation.KeyClass: "plain"}, quiet: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Settings{}
			tiers(&s)
			bubble(t, sim.Options{}, s, func(r *rig) {
				r.name()
				with := func(svc *v1.Service, values map[string]string) {
					for key, value := range values {
						svc.Annotations[key] = r.named.Expand(value)
					}
				}
				svc := service()
				with(svc, tt.before)
				address := r.ensure(svc).Ingress[0].IP
				annotate("load-balancer-id", r.made().ID)(svc)
				r.events()
				for key := range tt.before {
					delete(svc.Annotations, key)
				}
				with(svc, tt.after)
				for range 2 { // the second one is a new manager
					if now := r.ensure(svc).Ingress[0].IP; now != address {
						t.Errorf("the address is %s, was %s", now, address)
					}
					warned := slices.DeleteFunc(r.events(), func(e string) bool { return !strings.Contains(e, "LoadBalancerWarning") })
					switch {
					case tt.quiet && len(warned) > 0:
						t.Errorf("events %q about nothing", warned)
					case !tt.quiet && (len(warned) != 1 || !strings.Contains(r.named.Replace(warned[0]), tt.event) || !strings.Contains(warned[0], address)):
						t.Errorf("events %q, want one that says %q and %s", warned, tt.event, address)
					}
					r.restart()
				}
				r.steady(svc)
				if tt.another {
					// What the event advises.
					internal(svc)
					r.ensure(svc)
					delete(svc.Annotations, annotation.KeyInternal)
					r.events()
					if now := r.ensure(svc).Ingress[0].IP; r.place(now) == r.place(address) {
						t.Errorf("the new address %s is of the same subnet as %s", now, address)
					}
					if warned := strings.Join(r.events(), "\n"); strings.Contains(warned, "LoadBalancerWarning") {
						t.Errorf("warned although it has what it asks for: %s", warned)
					}
				}
				r.remove(svc)
				r.unname()
			})
		})
	}
}

// A floating IP that another manager took is where that manager looked; only a network that shows on
// the floating IP itself is worth an event.
func TestAdoptedFloatingIPsWarnNothing(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service(annotate("floating-subnet", "!tier-*"))
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.restart()
		r.ensure(svc)
		if events := strings.Join(r.events(), "\n"); strings.Contains(events, "Warning") {
			t.Errorf("events %s", events)
		}
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		annotate("timeout-client-data", "60000")(svc)
		r.ensure(svc)
		if model.StoredRecord(r.made()).IsZero() {
			t.Errorf("no applied record: %q", r.made().Tags)
		}
		r.steady(svc)
		r.remove(svc)
		r.unname()
	})
}

// What the class or the configuration would give a new load balancer does not move one that works,
// and gets one Event.
func TestWarnUnmovableLoadBalancer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		to    func(*rig, *Settings, *v1.Service)
		texts []string
	}{
		{"class", func(r *rig, s *Settings, svc *v1.Service) {
			s.Classes = map[string]Place{"tiered": {SubnetID: r.named.Expand("{other-subnet}")}}
			annotate("class", "tiered")(svc)
		}, []string{"subnet {private}", annotation.KeyClass + ` "tiered" requests {other-subnet}`}},
		{"configuration", func(r *rig, s *Settings, _ *v1.Service) {
			s.FlavorID, s.AvailabilityZone = r.sim.Places().LoadBalancerFlavors["large"], "az-2"
		}, []string{"flavor none, where flavor-id in section [LoadBalancer] of the configuration requests {flavor-large}", "availability zone none, where availability-zone"}},
		{"provider", func(_ *rig, s *Settings, _ *v1.Service) { s.Provider = "f5" },
			[]string{"provider amphora, where lb-provider in section [LoadBalancer] of the configuration requests f5"}},
		{"another name of the provider", func(_ *rig, s *Settings, _ *v1.Service) { s.Provider = "amphorav2" }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, Settings{Provider: "amphora"}, func(r *rig) {
				r.name()
				svc := service(internal)
				r.ensure(svc)
				id := r.made().ID
				tt.to(r, &r.settings, svc)
				r.restart()
				r.ensure(svc)
				if r.made().ID != id {
					t.Error("the load balancer was replaced")
				}
				warned := slices.DeleteFunc(r.events(), func(e string) bool { return !strings.Contains(e, "keeps its settings") })
				if len(tt.texts) == 0 && len(warned) > 0 || len(tt.texts) > 0 && len(warned) != 1 {
					t.Fatalf("events %q, want one for %d texts", warned, len(tt.texts))
				}
				for _, text := range tt.texts {
					if !strings.Contains(r.named.Replace(warned[0]), text) {
						t.Errorf("%q does not say %q", r.named.Replace(warned[0]), text)
					}
				}
				r.remove(svc)
				r.unname()
			})
		})
	}
}

// Alerts look for the reasons that today's manager gives its events.
func TestEventReasonsStay(t *testing.T) {
	for reason, tt := range map[string]struct {
		options  sim.Options
		settings Settings
		service  func(*v1.Service)
	}{
		"LoadBalancerForcedInternal":      {settings: Settings{Internal: true}, service: annotate("internal", "false")},
		"LoadBalancerSourceRangesIgnored": {settings: Settings{Provider: model.ProviderOVN}, service: func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }},
		"LoadBalancerFloatingIPSkipped": {options: sim.Options{IPv6: true}, service: func(s *v1.Service) {
			annotate("floating-subnet", "tier-a", "subnet-id", "{private6}")(s)
			s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
		}},
		"LoadBalancerAvailabilityZonesIgnored": {settings: Settings{Provider: model.ProviderOVN}, service: annotate("availability-zone", "az-2")},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			bubble(t, tt.options, tt.settings, func(r *rig) {
				svc := service(tt.service)
				if value, ok := svc.Annotations[annotation.Prefix+"internal"]; ok {
					delete(svc.Annotations, annotation.Prefix+"internal")
					svc.Annotations[annotation.KeyInternal] = value
				}
				if svc.Annotations[annotation.KeySubnetID] != "" {
					svc.Annotations[annotation.KeySubnetID] = r.sim.Places().PrivateSubnet6
				}
				r.ensure(svc)
				r.wantEvent("Warning " + reason + " ")
			})
		})
	}
}
