package loadbalancer

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestListenerStaysUntilItsSuccessorHasATargetGroup changes the protocol of a port while AWS refuses a target group for
// it, or its targets. The listener before serves until that is possible.
func TestListenerStaysUntilItsSuccessorHasATargetGroup(t *testing.T) {
	tcp := func(s *v1.Service) {
		both(s)
		s.Spec.Ports = s.Spec.Ports[1:2]
	}
	tcpAndUDP := func(s *v1.Service) {
		both(s)
		s.Spec.Ports = s.Spec.Ports[:2]
	}
	for _, tt := range []struct {
		name         string
		before, edit func(*v1.Service)
		protocol     string
		quota        int
		fault        string
	}{
		{"quota, UDP beside TCP", tcp, tcpAndUDP, "TCP", 1, ""},
		{"quota, UDP instead of TCP", tcp, udp, "TCP", 1, ""},
		{"quota, TCP instead of UDP", udp, tcp, "UDP", 1, ""},
		{"targets", tcp, tcpAndUDP, "TCP", 10, "RegisterTargets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{Quotas: map[string]int{sim.QuotaTargetGroups: tt.quota}})
			r.ensure(service(tt.before))
			if tt.fault != "" {
				r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultDenied, Operation: tt.fault, Times: kit.Always})
			}
			for range 3 {
				if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, service(tt.edit), r.nodes); err == nil {
					t.Fatal("nothing is refused")
				}
				if l, ok := r.listeners()[53]; !ok || string(l.Protocol) != tt.protocol || len(l.DefaultActions) != 1 {
					t.Fatalf("listener %+v, want %s", l, tt.protocol)
				}
			}
			r.sim.Front().SetFaults()
			if tt.fault != "" {
				r.ensure(service(tt.edit))
				r.steady(service(tt.edit))
			}
		})
	}
}

// TestListenerComesBackIfItsSuccessorIsRefused changes the protocol of a port while AWS refuses its next listener.
func TestListenerComesBackIfItsSuccessorIsRefused(t *testing.T) {
	tcp := func(s *v1.Service) {
		both(s)
		s.Spec.Ports = s.Spec.Ports[1:2]
	}
	tcpAndUDP := func(s *v1.Service) {
		both(s)
		s.Spec.Ports = s.Spec.Ports[:2]
	}
	tls := func(certificates string) func(*v1.Service) {
		return annotate(annotation.KeyCertificates, certificates, annotation.KeyTLSPolicy, "ELBSecurityPolicy-TLS-1-2-2017-01")
	}
	denied := kit.Fault{Kind: kit.FaultDenied, Operation: "CreateListener"}
	for _, tt := range []struct {
		name         string
		before, edit []func(*v1.Service)
		faults       []kit.Fault
		// creations counts the calls of CreateListener; with none, the listener stays deleted.
		creations int
		restored  bool
	}{
		{"UDP beside TCP", []func(*v1.Service){tcp, annotate(intent.KeyIdleTimeout, "500s")}, []func(*v1.Service){tcpAndUDP},
			[]kit.Fault{denied}, 2, true},
		{"UDP instead of TLS", []func(*v1.Service){tcp, tls(certificateA + "," + certificateB)}, []func(*v1.Service){udp},
			[]kit.Fault{denied}, 2, true},
		{"a certificate that AWS does not have", []func(*v1.Service){udp}, []func(*v1.Service){tcp, tls(strings.Replace(certificateA, "aaaa", "0000", 1))},
			nil, 2, true},
		{"AWS is busy while the listener is restored", []func(*v1.Service){tcp}, []func(*v1.Service){udp},
			[]kit.Fault{denied, {Kind: kit.FaultThrottle, Operation: "CreateListener", Call: 2, Times: 2}}, 4, true},
		{"AWS is busy while the listener is created", []func(*v1.Service){tcp}, []func(*v1.Service){udp},
			[]kit.Fault{{Kind: kit.FaultThrottle, Operation: "CreateListener", Times: kit.Always}}, 4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{Certificates: []string{certificateA, certificateB}, FixedProtocols: true})
			r.ensure(service(tt.before...))
			port := func() []string {
				return slices.DeleteFunc(r.shown(), func(fact string) bool { return !strings.HasPrefix(fact, "port 53: ") })
			}
			want, group := port(), *r.groupOn(53).TargetGroupArn
			if !tt.restored {
				want = nil
			}
			r.log().Reset()
			r.sim.Front().SetFaults(tt.faults...)
			if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, service(tt.edit...), r.nodes); err == nil {
				t.Fatal("nothing is refused")
			}
			creations := 0
			for _, call := range r.log().Mutations() {
				if call.Operation.Name == "CreateListener" {
					creations++
				}
			}
			if creations != tt.creations {
				t.Errorf("%d calls of CreateListener, want %d", creations, tt.creations)
			}
			if got := port(); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if tt.restored && *r.groupOn(53).TargetGroupArn != group {
				t.Error("it forwards to another target group")
			}
			if tt.restored { // The same is not tried at once: each attempt closes the port for a moment.
				r.log().Reset()
				if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, service(tt.edit...), r.nodes); err == nil {
					t.Error("the next sync does not fail")
				}
				r.noMutations("the next sync")
				r.clock.Step(time.Minute)
			}
			r.sim.Front().SetFaults()
			last := service(tt.edit...)
			if len(tt.faults) == 0 {
				tls(certificateA)(last)
			}
			r.ensure(last)
			r.steady(last)
		})
	}
}
