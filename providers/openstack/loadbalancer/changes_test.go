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
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// listener returns the listener of a port in the cloud.
func (r *rig) listener(port int) api.Listener {
	r.t.Helper()
	list, err := r.api.ListListeners(r.t.Context(), "")
	i := slices.IndexFunc(list, func(l api.Listener) bool { return l.ProtocolPort == port })
	if err != nil || i < 0 {
		r.t.Fatalf("no listener at %d: %v", port, err)
	}
	return list[i]
}

func (r *rig) pool(port int) api.Pool {
	r.t.Helper()
	id := r.listener(port).DefaultPoolID
	list, err := r.api.ListPools(r.t.Context(), "")
	i := slices.IndexFunc(list, func(p api.Pool) bool { return p.ID == id })
	if err != nil || i < 0 {
		r.t.Fatalf("no pool %s: %v", id, err)
	}
	return list[i]
}

func (r *rig) monitor(port int) *api.HealthMonitor {
	r.t.Helper()
	id := r.pool(port).MonitorID
	if id == "" {
		return nil
	}
	m, err := r.api.GetHealthMonitor(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return &m
}

func (r *rig) membersAt(port int) []api.Member {
	r.t.Helper()
	list, err := r.api.ListMembers(r.t.Context(), r.pool(port).ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// wantPorts fails the test unless the cloud has the objects of n ports, whatever changed before.
func (r *rig) wantPorts(n int) {
	r.t.Helper()
	o := r.sim.Objects()
	if o["listeners"] != n || o["pools"] != n {
		r.t.Errorf("%d listeners and %d pools, want %d of each", o["listeners"], o["pools"], n)
	}
}

// Every change of a live Service, and what it leads to. Those that today's manager cannot make, or
// makes with an outage, are among them.
func TestUpdateLiveService(t *testing.T) {
	local := func(s *v1.Service) {
		s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	for _, tt := range []struct {
		name     string
		from, to func(*v1.Service)
		settings Settings
		check    func(*testing.T, *rig)
	}{
		{name: "X-Forwarded-For on", to: annotate("x-forwarded-for", "true"), check: func(t *testing.T, r *rig) {
			if l := r.listener(80); l.Protocol != "HTTP" || l.InsertHeaders["X-Forwarded-For"] != "true" || r.pool(80).Protocol != "HTTP" {
				t.Errorf("listener %+v", l)
			}
		}},
		{name: "X-Forwarded-For off", from: annotate("x-forwarded-for", "true"), to: annotate("x-forwarded-for", "false"), check: func(t *testing.T, r *rig) {
			if l := r.listener(80); l.Protocol != "TCP" || len(l.InsertHeaders) != 0 || r.pool(80).Protocol != "TCP" {
				t.Errorf("listener %+v", l)
			}
		}},
		{name: "PROXY protocol on", to: annotate("proxy-protocol", "v2"), check: func(t *testing.T, r *rig) {
			if r.listener(80).Protocol != "TCP" || r.pool(80).Protocol != "PROXYV2" {
				t.Errorf("pool %+v", r.pool(80))
			}
		}},
		{name: "PROXY protocol off", from: annotate("proxy-protocol", "true"), to: annotate("proxy-protocol", "false"), check: func(t *testing.T, r *rig) {
			if r.pool(80).Protocol != "TCP" {
				t.Errorf("pool %+v", r.pool(80))
			}
		}},
		{name: "session affinity on", to: func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }, check: func(t *testing.T, r *rig) {
			if p := r.pool(80); p.Persistence.Type == "" || p.Persistence.Type != "SOURCE_IP" {
				t.Errorf("pool %+v", p)
			}
		}},
		{name: "session affinity off", from: func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP },
			to: func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityNone }, check: func(t *testing.T, r *rig) {
				if p := r.pool(80); p.Persistence.Type != "" {
					t.Errorf("pool %+v", p)
				}
			}},
		{name: "algorithm", to: annotate("lb-method", "LEAST_CONNECTIONS"), check: func(t *testing.T, r *rig) {
			if p := r.pool(80); p.LBMethod != "LEAST_CONNECTIONS" {
				t.Errorf("pool %+v", p)
			}
		}},
		{name: "allowed CIDRs", to: func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }, check: func(t *testing.T, r *rig) {
			if l := r.listener(80); !slices.Equal(l.AllowedCIDRs, []string{"10.0.0.0/8"}) {
				t.Errorf("listener %+v", l)
			}
		}},
		{name: "timeouts and limit", to: annotate("timeout-client-data", "60000", "timeout-member-data", "70000", "timeout-member-connect", "1000", "timeout-tcp-inspect", "5", "connection-limit", "77"),
			check: func(t *testing.T, r *rig) {
				l := r.listener(80)
				got := []int{l.TimeoutClientData, l.TimeoutMemberData, l.TimeoutMemberConnect, l.TimeoutTCPInspect, l.ConnLimit}
				if diff := cmp.Diff([]int{60000, 70000, 1000, 5, 77}, got); diff != "" {
					t.Error(diff)
				}
			}},
		{name: "monitors on", to: annotate("enable-health-monitor", "true", "health-monitor-delay", "11", "health-monitor-max-retries-down", "4"), check: func(t *testing.T, r *rig) {
			if m := r.monitor(80); m == nil || m.Type != "TCP" || m.Delay != 11 || m.Timeout != 3 || m.MaxRetriesDown != 4 {
				t.Errorf("monitor %+v", m)
			}
		}},
		{name: "monitors off", from: annotate("enable-health-monitor", "true"), to: annotate("enable-health-monitor", "false"), check: func(t *testing.T, r *rig) {
			if m := r.monitor(80); m != nil {
				t.Errorf("monitor %+v", m)
			}
		}},
		{name: "to Local", to: local, check: func(t *testing.T, r *rig) {
			if m := r.monitor(80); m == nil || m.Type != "HTTP" || m.URLPath != "/healthz" || m.ExpectedCodes != "200" {
				t.Errorf("monitor %+v", m)
			}
			if m := r.membersAt(80); m[0].MonitorPort != 32000 {
				t.Errorf("member %+v", m[0])
			}
		}},
		{name: "from Local to Cluster, with monitors", from: func(s *v1.Service) { local(s); annotate("enable-health-monitor", "true")(s) },
			to: func(s *v1.Service) { s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = "", 0 }, check: func(t *testing.T, r *rig) {
				if m := r.monitor(80); m == nil || m.Type != "TCP" {
					t.Errorf("monitor %+v", m)
				}
				if m := r.membersAt(80); m[0].MonitorPort != 0 {
					t.Errorf("member %+v", m[0])
				}
			}},
		{name: "node port", to: func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31111 }, check: func(t *testing.T, r *rig) {
			if m := r.membersAt(80); m[0].Port != 31111 || len(m) != 3 {
				t.Errorf("members %+v", m)
			}
		}},
		{name: "port moves", to: func(s *v1.Service) { s.Spec.Ports[0].Port = 8080 }, check: func(t *testing.T, r *rig) { r.listener(8080) }},
		{name: "TCP becomes UDP", to: func(s *v1.Service) { s.Spec.Ports[0].Protocol = v1.ProtocolUDP }, check: func(t *testing.T, r *rig) {
			if l := r.listener(80); l.Protocol != "UDP" || r.pool(80).Protocol != "UDP" {
				t.Errorf("listener %+v", l)
			}
		}},
		{name: "ports swap places", to: func(s *v1.Service) { slices.Reverse(s.Spec.Ports) }, check: func(t *testing.T, r *rig) {
			if m := r.membersAt(443); m[0].Port != 30443 {
				t.Errorf("members of 443: %+v", m)
			}
		}},
		{name: "tags come", to: annotate("load-balancer.unified-ccm.io/tags", "team=web"), check: func(t *testing.T, r *rig) {
			if !slices.Contains(r.balancer().Tags, "team=web") || !slices.Contains(r.listener(80).Tags, "team=web") || !slices.Contains(r.pool(80).Tags, "team=web") {
				t.Errorf("tags %q", r.balancer().Tags)
			}
		}},
		{name: "tags go", from: annotate("load-balancer.unified-ccm.io/tags", "team=web"), to: func(s *v1.Service) { clear(s.Annotations) }, check: func(t *testing.T, r *rig) {
			if slices.Contains(r.balancer().Tags, "team=web") || slices.Contains(r.listener(80).Tags, "team=web") {
				t.Errorf("tags %q", r.balancer().Tags)
			}
		}},
		{name: "node selector", to: annotate("node-selector", "edge"), check: func(t *testing.T, r *rig) {
			if m := r.membersAt(80); len(m) != 1 {
				t.Errorf("members %+v", m)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, sim.Options{}, tt.settings, func(r *rig) {
				r.nodes[0].Labels["edge"] = ""
				var svc *v1.Service
				if tt.from == nil {
					tt.from = func(*v1.Service) {}
				}
				svc = service(tt.from)
				address := r.ensure(svc).Ingress[0].IP
				id := r.balancer().ID
				r.steady(svc)
				tt.to(svc)
				if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID != id {
					t.Errorf("the load balancer was replaced, or its address: %s, was %s", got, address)
				}
				tt.check(t, r)
				r.wantPorts(2)
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

func TestTLSTermination(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		const base = "http://openstack.invalid"
		old, container := r.sim.AddSecret(base, "old", false), r.sim.AddSecret(base, "new", true)
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		for _, ref := range []string{old, container, ""} {
			annotate("default-tls-container-ref", ref)(svc)
			if got := r.ensure(svc).Ingress[0].IP; got != address {
				t.Errorf("the address is %s, was %s", got, address)
			}
			protocol, pool := "TERMINATED_HTTPS", "HTTP"
			if ref == "" {
				protocol, pool = "TCP", "TCP"
			}
			if l := r.listener(443); l.Protocol != protocol || l.DefaultTlsContainerRef != ref || r.pool(443).Protocol != pool {
				t.Errorf("listener %+v, pool %+v", l, r.pool(443))
			}
			r.steady(svc)
		}
		r.ensureError(service(annotate("default-tls-container-ref", base+"/key-manager/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")), "default-tls-container-ref", "not in Barbican")
		r.ensureError(service(annotate("default-tls-container-ref", "my-certificate")), "default-tls-container-ref", "my-certificate")
		r.remove(svc)
		r.nothing()
	})
}

func TestEnsureReportsAllInvalidAnnotations(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate(
			annotation.KeyInternal, "True", "connection-limit", "many", "timeout-client-data", "-1", "lb-method", "RANDOM", "class", "none",
			"subnet-id", "private", "health-monitor-timeout", "0", "proxy-protocol", "v3", "floating-subnet", "~[", "keep-floatingip", "yes",
		))
		r.ensureError(svc, annotation.KeyInternal, `"True"`, "connection-limit", `"many"`, "timeout-client-data", "lb-method", `"RANDOM"`,
			"class", "subnet-id", "health-monitor-timeout", "proxy-protocol", "floating-subnet", "keep-floatingip")
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("made %v", m)
		}
	})
}

func TestOVNRejectsUnsupportedSettings(t *testing.T) {
	bubble(t, sim.Options{}, Settings{Provider: model.ProviderOVN, Method: "ROUND_ROBIN"}, func(r *rig) {
		r.ensureError(service(annotate("proxy-protocol", "true")), "proxy-protocol", "ovn")
		r.ensureError(service(annotate("x-forwarded-for", "true")), "x-forwarded-for", "ovn")
		r.ensureError(service(annotate("lb-method", "ROUND_ROBIN")), "lb-method", "SOURCE_IP_PORT")
		svc := service(annotate("enable-health-monitor", "true"), func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		r.ensure(svc)
		if p := r.pool(80); p.LBMethod != "SOURCE_IP_PORT" {
			t.Errorf("pool %+v", p)
		}
		// Today the members of such a Service never match, and are sent with every sync.
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestEnsureWarns(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("node-selector", "nowhere=1", "enable-health-monitor", "false"), func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		r.ensure(svc)
		text := strings.Join(r.events(), "\n")
		for _, want := range []string{"node-selector", "nowhere=1", "enable-health-monitor", "Local"} {
			if !strings.Contains(text, want) {
				t.Errorf("no event says %q: %s", want, text)
			}
		}
		r.remove(svc)
	})
}

func TestLoadBalancerInErrorIsCreatedAgain(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeError})
		svc := service()
		r.ensureError(svc, "ERROR")
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestStaleLoadBalancerIDIsReplaced(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("load-balancer-id", "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"))
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestSerialChangesWithoutCascade(t *testing.T) {
	bubble(t, sim.Options{}, Settings{Serial: true, NoCascade: true, CreateMonitor: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		if m := r.membersAt(80); len(m) != 3 || !strings.HasPrefix(m[0].Name, "member_node-") || m[0].SubnetID == "" {
			t.Errorf("members %+v", m)
		}
		r.steady(svc)
		r.nodes = r.nodes[1:]
		r.update(svc)
		if m := r.membersAt(80); len(m) != 2 {
			t.Errorf("members %+v", m)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
