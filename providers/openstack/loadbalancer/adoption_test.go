package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// left makes what today's manager leaves behind for a Service.
func (r *rig) left(svc *v1.Service, name string, tagged bool) api.LoadBalancer {
	r.t.Helper()
	return legacy{r: r, svc: svc, name: name, untagged: !tagged}.balancer()
}

// certificate is what a case writes for a certificate in Barbican.
const certificate = "{certificate}"

// legacies are what today's manager leaves behind for one Service, in each of the ways that it can.
func legacies() map[string]struct {
	settings Settings
	service  func(*v1.Service)
} {
	type one = struct {
		settings Settings
		service  func(*v1.Service)
	}
	ovn := Settings{Provider: model.ProviderOVN}
	grouped := Settings{ManageSecurityGroups: true}
	local := func(s *v1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	unprobed := func(s *v1.Service) { local(s); annotate("enable-health-monitor", "false")(s) }
	udp := func(s *v1.Service) { s.Spec.Ports[1].Protocol = v1.ProtocolUDP }
	return map[string]one{
		"amphora":                         {},
		"internal":                        {service: internal},
		"one port":                        {service: onPorts(80)},
		"many ports":                      {service: onPorts(80, 443, 8080, 8443, 9000)},
		"TCP and UDP":                     {service: udp},
		"PROXY protocol":                  {service: annotate("proxy-protocol", "true")},
		"PROXY protocol v2":               {service: annotate("proxy-protocol", "v2")},
		"X-Forwarded-For":                 {service: annotate("x-forwarded-for", "true")},
		"TLS":                             {service: annotate("default-tls-container-ref", certificate)},
		"session affinity":                {service: func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }},
		"monitors":                        {settings: Settings{CreateMonitor: true}, service: udp},
		"Local with monitors":             {settings: Settings{CreateMonitor: true}, service: local},
		"Local, monitors switched off":    {service: unprobed},
		"ovn, Local, no monitors":         {settings: ovn, service: unprobed},
		"managed groups":                  {settings: grouped},
		"managed groups, Local":           {settings: Settings{ManageSecurityGroups: true, CreateMonitor: true}, service: local},
		"ovn":                             {settings: ovn, service: udp},
		"ovn, internal":                   {settings: ovn, service: internal},
		"ovn with monitors":               {settings: Settings{Provider: model.ProviderOVN, CreateMonitor: true}, service: udp},
		"ovn with monitors and Local":     {settings: Settings{Provider: model.ProviderOVN, CreateMonitor: true}, service: local},
		"ovn with managed groups":         {settings: Settings{Provider: model.ProviderOVN, ManageSecurityGroups: true}},
		"ovn with managed groups, Local":  {settings: Settings{Provider: model.ProviderOVN, ManageSecurityGroups: true, CreateMonitor: true}, service: local},
		"ovn with managed groups and UDP": {settings: Settings{Provider: model.ProviderOVN, ManageSecurityGroups: true}, service: udp},
	}
}

// onLegacy runs a test for each of legacies, with its Service.
func onLegacy(t *testing.T, test func(*rig, *v1.Service)) {
	t.Helper()
	for name, tt := range legacies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, tt.settings, func(r *rig) {
				svc := service()
				if tt.service != nil {
					tt.service(svc)
				}
				for key, value := range svc.Annotations {
					if value == certificate {
						svc.Annotations[key] = r.sim.AddSecret("http://openstack.invalid", "web", true)
					}
				}
				test(r, svc)
			})
		})
	}
}

// What today's manager leaves is taken over without a change: the marks come with the first change that the Service
// causes.
func TestTakeOverChangesNothing(t *testing.T) {
	onLegacy(t, func(r *rig, svc *v1.Service) {
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		before := r.records(true)
		r.restart()
		r.ensure(svc)
		r.ensure(svc)
		r.restart()
		r.update(svc)
		r.ensure(svc)
		if m := r.mutations(); len(m) > 0 {
			r.t.Errorf("changes %v", m)
		}
		if diff := cmp.Diff(before, r.records(true)); diff != "" {
			r.t.Errorf("what changed (-before +after):\n%s", diff)
		}
		svc.Spec.Ports[0].NodePort++
		r.update(svc)
		if m := r.mutations(); r.balancer().Tags[0] != lb.Tags[0] || slices.ContainsFunc(m, func(m string) bool { return m != "BatchUpdateMembers" }) {
			r.t.Errorf("changes %v for other members, tags %q", m, r.balancer().Tags)
		}
		onPorts(80, 444)(svc)
		r.ensure(svc)
		if names.ClusterUID(r.balancer().Tags) != clusterUID || model.StoredRecord(r.balancer()).IsZero() {
			r.t.Errorf("tags %q", r.balancer().Tags)
		}
		for _, f := range r.fips() {
			if names.ClusterUID(f.Tags) != clusterUID {
				r.t.Errorf("floating IP with tags %q", f.Tags)
			}
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// Local without monitors sends traffic to nodes that drop it, and today's manager leaves it so. So do we
// when we come, and say what to do; the Service that asks gets its monitors, and keeps them.
func TestAdoptLocalServiceWithoutMonitors(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		address, members := r.fips()[0].FloatingIP, r.membersAt(80)
		r.restart()
		if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID != lb.ID {
			t.Errorf("the address is %s of load balancer %s, was %s of %s", got, r.balancer().ID, address, lb.ID)
		}
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		if diff := cmp.Diff(members, r.membersAt(80)); diff != "" {
			t.Errorf("members (-before +after):\n%s", diff)
		}
		warns := func(e string) bool {
			return strings.Contains(e, "without health monitors") && strings.Contains(e, annotation.KeyMonitor)
		}
		if events := r.events(); !slices.ContainsFunc(events, warns) {
			t.Errorf("events %q", events)
		}
		r.steady(svc)
		r.restart()
		r.steady(svc)
		annotate("timeout-client-data", "60000")(svc)
		r.ensure(svc)
		if r.monitor(80) != nil || !slices.Contains(r.balancer().Tags, names.UnmonitoredTag) {
			t.Errorf("monitor %v, tags %q after another change", r.monitor(80), r.balancer().Tags)
		}
		r.steady(svc)

		annotate("enable-health-monitor", "true")(svc)
		r.ensure(svc)
		if m := r.monitor(80); m == nil || m.Type != "HTTP" {
			t.Errorf("monitor %v, want one over HTTP", m)
		}
		delete(svc.Annotations, annotation.KeyMonitor)
		r.ensure(svc)
		if r.monitor(80) == nil || slices.Contains(r.balancer().Tags, names.UnmonitoredTag) {
			t.Errorf("the monitor went with the annotation, tags %q", r.balancer().Tags)
		}
		r.remove(svc)
		r.nothing()
	})
}

// What we make is what today's manager makes and looks for: it can take over again.
func TestRollbackToOtherManagerChangesNothing(t *testing.T) {
	onLegacy(t, func(r *rig, svc *v1.Service) {
		lb := legacy{r: r, svc: svc}.balancer()
		theirs := r.records(false)
		annotate("load-balancer-id", lb.ID)(svc)
		r.restart()
		r.remove(svc)
		r.nothing()
		delete(svc.Annotations, annotation.KeyLoadBalancerID)
		r.restart()
		r.ensure(svc)
		if diff := cmp.Diff(theirs, r.records(false)); diff != "" {
			r.t.Errorf("what differs (-theirs +ours):\n%s", diff)
		}
		r.remove(svc)
		r.nothing()
	})
}

// Today's manager names health monitors by the current index of their port, and leaves the names of listeners and pools.
// It finds nothing to rename after ports were removed or reordered.
func TestHealthMonitorsAreNamedByIndex(t *testing.T) {
	bubble(t, sim.Options{}, Settings{CreateMonitor: true}, func(r *rig) {
		svc := service(onPorts(80, 443, 8080, 8443))
		r.ensure(svc)
		listener := r.listener(8443).Name
		for _, ports := range [][]int32{{443, 8080, 8443}, {8443, 443, 8080}, {8080, 9000, 8443}} {
			onPorts(ports...)(svc)
			r.ensure(svc)
			for i, port := range ports {
				if got, want := r.monitor(int(port)).Name, names.HealthMonitor(i, lbName("web")); got != want {
					t.Errorf("ports %v: the monitor at %d is %s, want %s", ports, port, got, want)
				}
			}
			r.steady(svc)
		}
		if got := r.listener(8443).Name; got != listener {
			t.Errorf("the listener is %s, was %s", got, listener)
		}
		r.remove(svc)
		r.nothing()
	})
}

// What older managers left is adopted too.
func TestAdoptLegacyNames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lb     string
		tagged bool
		noted  bool
	}{
		{name: "the annotation is lost", lb: lbName("web"), tagged: true},
		{name: "before there were tags", lb: lbName("web"), noted: true},
		// Today its own Service is taken for a guest once the annotation is written, and it is never deleted.
		{name: "of the name of old", lb: "a1111111122223333444455555555555", tagged: true, noted: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				lb := r.left(svc, tt.lb, tt.tagged)
				if tt.noted {
					annotate("load-balancer-id", lb.ID)(svc)
				}
				r.annotates = true
				r.restart()
				address := r.ensure(svc).Ingress[0].IP
				r.steady(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes %v", m)
				}
				if address != r.fips()[0].FloatingIP || svc.Annotations[annotation.KeyLoadBalancerID] != lb.ID {
					t.Errorf("address %s, annotations %v", address, svc.Annotations)
				}
				annotate("timeout-client-data", "60000")(svc)
				r.ensure(svc)
				if got := r.balancer(); got.ID != lb.ID || got.Name != lb.Name || names.ClusterUID(got.Tags) != clusterUID ||
					!slices.Contains(got.Tags, lbName("web")) {
					t.Errorf("load balancer %+v", got)
				}
				if l := r.listener(80); !slices.Contains(l.Tags, lbName("web")) {
					t.Errorf("tags of the listener %q", l.Tags)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// Services that share a load balancer are adopted together, whichever of them comes first.
func TestAdoptSharedLoadBalancer(t *testing.T) {
	for name, guestFirst := range map[string]bool{"the owner first": false, "the guest first": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
				owner, guest := service(), service(named("guest"), onPorts(8080, 9090))
				lb := legacy{r: r, svc: owner}.balancer()
				legacy{r: r, svc: guest}.join(lb)
				legacy{r: r, svc: guest}.group()
				services := []*v1.Service{owner, guest}
				for _, svc := range services {
					annotate("load-balancer-id", lb.ID)(svc)
				}
				if guestFirst {
					slices.Reverse(services)
				}
				before := r.records(true)
				r.restart()
				for _, svc := range services {
					r.ensure(svc)
				}
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes %v", m)
				}
				if diff := cmp.Diff(before, r.records(true)); diff != "" {
					t.Errorf("what changed (-before +after):\n%s", diff)
				}
				r.steady(owner)
				r.steady(guest)
				r.remove(owner)
				r.wantPorts(2)
				r.steady(guest)
				r.remove(guest)
				r.nothing()
			})
		})
	}
}

func TestAddressFamilies(t *testing.T) {
	t.Run("both", func(t *testing.T) {
		bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
			svc := service(internal, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} })
			status := r.ensure(svc)
			if len(status.Ingress) != 2 || model.FamilyOf(status.Ingress[0].IP) != v1.IPv4Protocol || model.FamilyOf(status.Ingress[1].IP) != v1.IPv6Protocol {
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
			if len(status.Ingress) != 1 || model.FamilyOf(status.Ingress[0].IP) != v1.IPv6Protocol || len(r.fips()) != 0 {
				t.Errorf("status %+v", status)
			}
			r.steady(svc)
		})
	})
}

func TestStatusHostnames(t *testing.T) {
	bubble(t, sim.Options{}, Settings{IngressHostname: true}, func(r *rig) {
		svc := service(annotate("proxy-protocol", "true"))
		if in := r.ensure(svc).Ingress[0]; in.IP != "" || in.Hostname != r.fips()[0].FloatingIP+".nip.io" {
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
