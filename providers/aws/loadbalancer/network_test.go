package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestNetworkLifeWithinItsBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	warm := web(func(s *v1.Service) { s.Name, s.UID = "warm", "ffffffff-0000-0000-0000-000000000000" })
	r.ensure(warm)
	r.log().Reset()
	status := r.ensure(web())
	r.atMost("creating a load balancer", 10)
	b := r.balancer(webName)
	if len(status.Ingress) != 1 || status.Ingress[0].Hostname != *b.DNSName {
		t.Errorf("status %+v", status)
	}
	want := world.LoadBalancer{Name: webName, Addresses: []string{*b.DNSName}, Listeners: []world.Listener{
		{Protocol: v1.ProtocolTCP, Port: 80, SourceRanges: []string{"0.0.0.0/0"}, Members: []string{"a", "b", "c"}, MemberPort: 30080},
		{Protocol: v1.ProtocolTCP, Port: 443, SourceRanges: []string{"0.0.0.0/0"}, Members: []string{"a", "b", "c"}, MemberPort: 30443},
	}}
	for _, have := range r.sim.LoadBalancers() {
		if have.Name == webName {
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("load balancer (-want +got):\n%s", diff)
			}
		}
	}
	r.converged(web())
	r.ensure(warm)
	r.log().Reset()
	r.delete(web())
	r.atMost("deleting a load balancer", 9)
	r.delete(warm)
	r.sameAs(t, before)
}

// Shapes that must not change anything when a manager starts over them.
func TestNothingToDoIsNoMutation(t *testing.T) {
	for name, svc := range map[string]*v1.Service{
		"plain":                   web(),
		"local traffic":           web(local),
		"HTTP health check":       web(with(annotation.KeyHealthCheckProtocol, "http")),
		"TLS without a policy":    web(with(annotation.KeyCertificates, certificateA)),
		"TLS of two certificates": web(with(annotation.KeyCertificates, certificateA+","+certificateB), with(annotation.KeyTLSPorts, "https")),
		"encrypted to the nodes":  web(with(annotation.KeyCertificates, certificateA), with(annotation.KeyBackendProtocol, "ssl")),
		"UDP":                     web(udp, local),
		"TCP and UDP on one port": web(both),
		"source ranges":           web(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/16", "192.0.2.0/24"} }),
		"internal":                web(with(annotation.KeyInternal, "true")),
		"attributes": web(with(annotation.KeyCrossZone, "true"), with(annotation.KeyAccessLog, "true"), with(annotation.KeyAccessLogBucket, "logs"),
			with(annotation.KeyGroupAttributes, "preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=10")),
		"tags":           web(with(annotation.KeyTags, "a=1,b=2=3,c")),
		"idle timeout":   web(with("load-balancer.unified-ccm.io/idle-timeout", "100s")),
		"IP targets":     web(with(annotation.KeyTargetType, "ip")),
		"a chosen name":  web(with(annotation.KeyName, "web-prod")),
		"dual stack":     web(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }),
		"dual stack UDP": web(udp, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }),
		"IPv6":           web(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }),
	} {
		for _, managed := range []bool{false, true} {
			mode := name
			if managed {
				mode += ", managed security group"
			}
			t.Run(mode, func(t *testing.T) {
				r := newRig(t, sim.Options{IPv6: true}, func(s *Settings) { s.ManagedGroups = managed })
				for _, n := range r.nodes {
					n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: r.privateIP(n)}}
				}
				before := r.bare()
				if status := r.ensure(svc); len(status.Ingress) != 1 {
					t.Errorf("status %+v", status)
				}
				r.converged(svc)
				r.delete(svc)
				r.sameAs(t, before)
			})
		}
	}
}

func udp(s *v1.Service) {
	s.Spec.Ports = []v1.ServicePort{{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053}}
}

func both(s *v1.Service) {
	s.Spec.Ports = []v1.ServicePort{
		{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053}, {Name: "dns-tcp", Protocol: v1.ProtocolTCP, Port: 53, NodePort: 30053},
		{Name: "web", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
	}
}
