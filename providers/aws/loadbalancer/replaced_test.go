package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
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
