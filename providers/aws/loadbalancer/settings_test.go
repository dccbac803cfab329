package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// With the shared probe, kube-proxy is wanted, whatever the annotations say; a Service with local
// traffic keeps its own probe.
func TestSharedProbe(t *testing.T) {
	shared := func(s *Settings) { s.Shared = &annotation.SharedProbe{Port: 10256, Path: "/healthz"} }
	r := newRig(t, sim.Options{}, shared)
	svc := service(annotate(annotation.KeyHealthCheckPort, "8080"))
	r.ensure(svc)
	if g := r.groupOn(80); g.HealthCheckProtocol != "HTTP" || *g.HealthCheckPort != "10256" || *g.HealthCheckPath != "/healthz" {
		t.Errorf("target group %+v", g)
	}
	r.wantEvent(annotation.KeyHealthCheckPort)
	r.steady(svc)
	r.ensure(service(local))
	if g := r.groupOn(80); *g.HealthCheckPort != "31000" {
		t.Errorf("target group %+v", g)
	}
	r.steady(service(local))
}

// Rules on nodes are left to the user, and a deletion does not touch them either.
func TestNoNodeRules(t *testing.T) {
	r := newRig(t, sim.Options{}, func(s *Settings) { s.NoNodeRules = true })
	before := r.bare()
	r.ensure(service())
	if rules := r.rules(); len(rules) > 0 {
		t.Errorf("rules %v", rules)
	}
	r.steady(service())
	r.remove(service())
	r.sameAs(t, before)
}

func TestServiceWithoutNodePortsIsRefused(t *testing.T) {
	for name, kind := range map[string]func(*v1.Service){"classic": without(annotation.KeyType), "network": func(*v1.Service) {}} {
		t.Run(name, func(t *testing.T) {
			newRig(t, sim.Options{}).ensureError(service(kind, func(s *v1.Service) {
				s.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
				s.Spec.Ports[0].NodePort = 0
			}), "spec.ports[0].nodePort", "allocateLoadBalancerNodePorts")
		})
	}
}

// AWS probes no target by UDP, and nodes answer no TCP on the node port of a UDP port.
func TestUDPThatIsProbedByTCPIsWarnedAbout(t *testing.T) {
	const warning = "spec.ports (53/UDP): its nodes are probed by TCP on the UDP node port"
	for name, tc := range map[string]struct {
		svc  *v1.Service
		warn bool
	}{
		"cluster traffic":         {service(udp), true},
		"local traffic":           {service(udp, local), false},
		"a probe of its own":      {service(udp, annotate(annotation.KeyHealthCheckProtocol, "http", annotation.KeyHealthCheckPort, "8080")), false},
		"TCP on the port as well": {service(both), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(tc.svc)
			if warned := strings.Contains(strings.Join(r.events(), "\n"), warning); warned != tc.warn {
				t.Errorf("a warning: %t, want %t", warned, tc.warn)
			}
		})
	}
}

// Only nodes with the labels receive traffic.
func TestNodesByLabels(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.nodes[1].Labels["pool"] = "ingress"
	svc := service(annotate(annotation.KeyNodeLabels, "pool=ingress"))
	r.ensure(svc)
	if members := r.sim.LoadBalancers()[0].Listeners[0].Members; len(members) != 1 || members[0] != "b" {
		t.Errorf("members %v", members)
	}
	r.steady(svc)
}

// An invalid selector neither removes nodes that exist nor adds others, also after a restart; a new one is ignored.
func TestMembersFollowInvalidSelectorAfterRestart(t *testing.T) {
	for _, kind := range []string{"", "nlb"} {
		for before, want := range map[string][]string{"": {"a", "joins"}, "pool=ingress": {"a"}} {
			t.Run(kind+" "+before, func(t *testing.T) {
				r := newRig(t, sim.Options{})
				svc := service(annotate(annotation.KeyType, kind))
				if before != "" {
					annotate(annotation.KeyNodeLabels, before)(svc)
				}
				for _, n := range r.nodes[:2] {
					n.Labels["pool"] = "ingress"
				}
				svc.Status.LoadBalancer = *r.ensure(svc)
				svc.Annotations[annotation.KeyNodeLabels] = "="
				r.restart()
				r.launch("joins")
				r.nodes = slices.DeleteFunc(r.nodes, func(n *v1.Node) bool { return n.Name == "b" || n.Name == "c" })
				if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
					t.Fatal(err)
				}
				got := r.sim.LoadBalancers()[0].Listeners[0].Members
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("members %v, want %v", got, want)
				}
				delete(svc.Annotations, annotation.KeyNodeLabels)
				r.ensure(svc)
				r.steady(svc)
			})
		}
	}
}

// A call names at most 100 targets.
func TestManyTargetsInChunks(t *testing.T) {
	r := newRig(t, sim.Options{})
	for i := range 247 {
		r.launch(fmt.Sprintf("node-%d", i))
	}
	one := service(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })
	r.ensure(one)
	if n := r.log().Count()["RegisterTargets"]; n != 3 {
		t.Errorf("%d calls register 250 targets", n)
	}
	r.steady(one)
	r.nodes = r.nodes[:3]
	r.log().Reset()
	if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, one, r.nodes); err != nil {
		t.Fatal(err)
	}
	if n := r.log().Count()["DeregisterTargets"]; n != 3 {
		t.Errorf("%d calls remove 247 targets", n)
	}
	r.steady(one)
}

// The name that a Service chooses is found again without the Service, and another's is refused.
func TestChosenName(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	named := service(annotate(annotation.KeyName, "web-prod"))
	r.ensure(named)
	r.balancer("web-prod")
	other := service(annotate(annotation.KeyName, "web-prod"), func(s *v1.Service) { s.Name, s.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef" })
	if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, other, r.nodes); err == nil {
		t.Error("two Services share a load balancer")
	}
	r.remove(other)
	r.ensure(service(annotate(annotation.KeyName, "web-test")))
	r.wantEvent("web-test")
	r.restart()
	r.remove(service())
	r.sameAs(t, before)
}
