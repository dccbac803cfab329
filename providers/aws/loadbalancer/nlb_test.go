package loadbalancer

import (
	"slices"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestLifecycleWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	warm := service(func(s *v1.Service) { s.Name, s.UID = "warm", "ffffffff-0000-0000-0000-000000000000" })
	r.ensure(warm)
	r.log().Reset()
	status := r.ensure(service())
	r.wantCalls("creating a load balancer", 10)
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
	r.steady(service())
	r.ensure(warm)
	r.log().Reset()
	r.remove(service())
	r.wantCalls("deleting a load balancer", 9)
	r.remove(warm)
	r.sameAs(t, before)
}

// The first creation after a while reads what the ones that follow share.
func TestCreationWithStaleSnapshotWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service(func(s *v1.Service) { s.Name, s.UID = "earlier", "ffffffff-0000-0000-0000-000000000000" }))
	r.clock.Step(20 * time.Minute)
	r.log().Reset()
	r.ensure(service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }))
	if n := len(r.log().Mutations()); n != 8 {
		t.Errorf("%d changes: %v", n, r.log().Count())
	}
	r.wantCalls("creating a load balancer", 15)
}

// A deletion mostly comes when nothing has been read for a while.
func TestDeletionWithStaleSnapshotWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{})
	before := r.bare()
	svc := service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })
	r.ensure(svc)
	for range 48 {
		r.clock.Step(30 * time.Minute)
		if _, _, err := r.manager.AuditLoadBalancer(t.Context(), clusterName, func() (*v1.Service, []*v1.Node) { return svc, r.nodes }); err != nil {
			t.Fatal(err)
		}
	}
	r.clock.Step(10 * time.Minute)
	r.log().Reset()
	r.remove(svc)
	if r.log().Count()["RevokeSecurityGroupIngress"] != 1 {
		t.Errorf("no rule is revoked: %v", r.log().Count())
	}
	r.wantCalls("deleting a load balancer", 9)
	r.sameAs(t, before)
}

// Shapes that must not change anything when a manager starts over them.
func TestUnchangedServiceMakesNoMutation(t *testing.T) {
	for name, svc := range map[string]*v1.Service{
		"plain":                   service(),
		"local traffic":           service(local),
		"HTTP health check":       service(annotate(annotation.KeyHealthCheckProtocol, "http")),
		"TLS without a policy":    service(annotate(annotation.KeyCertificates, certificateA)),
		"TLS of two certificates": service(annotate(annotation.KeyCertificates, certificateA+","+certificateB, annotation.KeyTLSPorts, "https")),
		"encrypted to the nodes":  service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyBackendProtocol, "ssl")),
		"UDP":                     service(udp, local),
		"TCP and UDP on one port": service(both),
		"source ranges":           service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/16", "192.0.2.0/24"} }),
		"internal":                service(annotate(annotation.KeyInternal, "true")),
		"attributes": service(annotate(annotation.KeyCrossZone, "true", annotation.KeyAccessLog, "true", annotation.KeyAccessLogBucket, "logs"),
			annotate(annotation.KeyGroupAttributes, "preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=10")),
		"tags":           service(annotate(annotation.KeyTags, "a=1,b=2=3,c")),
		"idle timeout":   service(annotate("load-balancer.unified-ccm.io/idle-timeout", "100s")),
		"IP targets":     service(annotate(annotation.KeyTargetType, "ip")),
		"a chosen name":  service(annotate(annotation.KeyName, "web-prod")),
		"dual stack":     service(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }),
		"dual stack UDP": service(udp, func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }),
		"IPv6":           service(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }),
	} {
		for _, managed := range []bool{false, true} {
			mode := name
			if managed {
				mode += ", managed security group"
			}
			t.Run(mode, func(t *testing.T) {
				r := newRig(t, sim.Options{IPv6: true, PrimaryIPv6: true}, func(s *Settings) { s.ManagedGroups = managed })
				for _, n := range r.nodes {
					n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: r.privateIP(n)}}
				}
				before := r.bare()
				if status := r.ensure(svc); len(status.Ingress) != 1 {
					t.Errorf("status %+v", status)
				}
				r.steady(svc)
				r.remove(svc)
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

// A Service that is changed from everything to everything else, one step after the other.
func TestServiceChanges(t *testing.T) {
	base := service()
	for _, tc := range []struct {
		name     string
		from, to *v1.Service
		// check inspects the result; the calls in never must not be made.
		check func(t *testing.T, r *rig)
		never []string
	}{
		{name: "TCP to TLS in place", from: base, to: service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")), never: []string{"CreateListener", "DeleteListener"},
			check: func(t *testing.T, r *rig) {
				if l := r.listeners()[443]; l.Protocol != "TLS" || *l.Certificates[0].CertificateArn != certificateA || r.listeners()[80].Protocol != "TCP" {
					t.Errorf("listener %+v", l)
				}
			}},
		{name: "TLS to TCP in place", from: service(annotate(annotation.KeyCertificates, certificateA)), to: base, never: []string{"CreateListener", "DeleteListener"},
			check: func(t *testing.T, r *rig) {
				if l := r.listeners()[443]; l.Protocol != "TCP" || len(l.Certificates) != 0 {
					t.Errorf("listener %+v", l)
				}
			}},
		{name: "a second certificate", from: service(annotate(annotation.KeyCertificates, certificateA)), to: service(annotate(annotation.KeyCertificates, certificateA+","+certificateB)), never: []string{"ModifyListener"},
			check: func(t *testing.T, r *rig) { r.certificates(t, certificateA, certificateB) }},
		{name: "one certificate less", from: service(annotate(annotation.KeyCertificates, certificateA+","+certificateB)), to: service(annotate(annotation.KeyCertificates, certificateA)),
			check: func(t *testing.T, r *rig) { r.certificates(t, certificateA) }},
		{name: "certificates change places", from: service(annotate(annotation.KeyCertificates, certificateA+","+certificateB)), to: service(annotate(annotation.KeyCertificates, certificateB+","+certificateA)),
			check: func(t *testing.T, r *rig) { r.certificates(t, certificateB, certificateA) }},
		{name: "the unhealthy threshold alone", from: base, to: service(annotate(annotation.KeyHealthCheckUnhealthy, "5")), never: []string{"CreateTargetGroup"},
			check: func(t *testing.T, r *rig) {
				if g := r.groupOn(80); *g.UnhealthyThresholdCount != 5 || *g.HealthyThresholdCount != 3 {
					t.Errorf("thresholds %d, %d", *g.UnhealthyThresholdCount, *g.HealthyThresholdCount)
				}
			}},
		{name: "the timeout of probes", from: base, to: service(annotate(annotation.KeyHealthCheckTimeout, "4")),
			check: func(t *testing.T, r *rig) {
				if g := r.groupOn(80); *g.HealthCheckTimeoutSeconds != 4 {
					t.Errorf("timeout %d", *g.HealthCheckTimeoutSeconds)
				}
			}},
		{name: "another node port", from: base, to: service(func(s *v1.Service) { s.Spec.Ports[0].NodePort = 30099 }), never: []string{"CreateListener", "DeleteListener", "CreateLoadBalancer"},
			check: func(t *testing.T, r *rig) {
				if g := r.groupOn(80); *g.Port != 30099 || len(r.groups()) != 2 {
					t.Errorf("target group %+v of %d", g, len(r.groups()))
				}
			}},
		{name: "a port less", from: base, to: service(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }),
			check: func(t *testing.T, r *rig) {
				if len(r.listeners()) != 1 || len(r.groups()) != 1 || len(r.rules()) != 2 {
					t.Errorf("%d listeners, %d target groups, rules %v", len(r.listeners()), len(r.groups()), r.rules())
				}
			}},
		{name: "TCP to UDP", from: base, to: service(udp), check: func(t *testing.T, r *rig) {
			if l := r.listeners()[53]; l.Protocol != "UDP" || len(r.groups()) != 1 {
				t.Errorf("listener %+v, %d target groups", l, len(r.groups()))
			}
		}},
		{name: "UDP becomes both", from: service(udp), to: service(both), check: func(t *testing.T, r *rig) {
			if l := r.listeners()[53]; l.Protocol != "TCP_UDP" {
				t.Errorf("listener %+v", l)
			}
		}},
		{name: "source ranges open again", from: service(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/16"} }), to: base,
			check: func(t *testing.T, r *rig) {
				want := []string{
					"icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
					"tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=" + webName,
					"tcp 30443-30443 0.0.0.0/0 kubernetes.io/rule/nlb/client=" + webName,
				}
				if diff := cmp.Diff(want, r.rules()); diff != "" {
					t.Errorf("rules (-want +got):\n%s", diff)
				}
			}},
		{name: "tags", from: service(annotate(annotation.KeyTags, "a=1,b=2")), to: service(annotate(annotation.KeyTags, "a=3")), check: func(t *testing.T, r *rig) {
			for _, arn := range []*string{r.balancer(webName).LoadBalancerArn, r.groupOn(80).TargetGroupArn, r.listeners()[80].ListenerArn} {
				if tags := r.tagsOf(arn); tags["a"] != "3" || tags["b"] != "" || tags["kubernetes.io/cluster/sim"] != "owned" || tags["kubernetes.io/service-name"] != "default/web" {
					t.Errorf("%s has the tags %v", *arn, tags)
				}
			}
		}},
		{name: "dual stack and back", from: service(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }), to: base,
			check: func(t *testing.T, r *rig) {
				if b := r.balancer(webName); b.IpAddressType != "ipv4" {
					t.Errorf("address type %s", b.IpAddressType)
				}
			}},
		{name: "to IPv6", from: base, to: service(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol} }),
			check: func(t *testing.T, r *rig) {
				if b, g := r.balancer(webName), r.groupOn(80); b.IpAddressType != "dualstack" || g.IpAddressType != "ipv6" {
					t.Errorf("address types %s, %s", b.IpAddressType, g.IpAddressType)
				}
			}},
		{name: "an attribute of target groups", from: service(annotate(annotation.KeyGroupAttributes, "stickiness.enabled=true")), to: service(annotate(annotation.KeyGroupAttributes, "stickiness.enabled=false"))},
		{name: "cross zone and back", from: service(annotate(annotation.KeyCrossZone, "true")), to: base},
		{name: "local traffic", from: base, to: service(local), check: func(t *testing.T, r *rig) {
			if g := r.groupOn(80); g.HealthCheckProtocol != "HTTP" || *g.HealthCheckPort != "31000" || *g.HealthCheckPath != "/healthz" || *g.HealthCheckIntervalSeconds != 10 || *g.HealthyThresholdCount != 2 {
				t.Errorf("target group %+v", g)
			}
		}},
		{name: "instances to addresses", from: base, to: service(annotate(annotation.KeyTargetType, "ip"))},
		{name: "an idle timeout", from: base, to: service(annotate(intent.KeyIdleTimeout, "60s"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{IPv6: true, PrimaryIPv6: true})
			for _, n := range r.nodes {
				n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: r.privateIP(n)}}
			}
			before := r.bare()
			r.ensure(tc.from)
			r.log().Reset()
			r.ensure(tc.to)
			for _, call := range r.log().Mutations() {
				if slices.Contains(tc.never, call.Operation.Name) {
					t.Errorf("calls %s", call.Operation.Name)
				}
			}
			if tc.check != nil {
				tc.check(t, r)
			}
			r.steady(tc.to)
			r.ensure(tc.from)
			r.steady(tc.from)
			r.remove(tc.from)
			r.sameAs(t, before)
		})
	}
}

// certificates fails unless the listener on port 443 has these, the first as its default.
func (r *rig) certificates(t *testing.T, want ...string) {
	t.Helper()
	out, err := r.elbv2.DescribeListenerCertificates(t.Context(), &elbv2.DescribeListenerCertificatesInput{ListenerArn: r.listeners()[443].ListenerArn})
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, c := range out.Certificates {
		if *c.IsDefault {
			have = append([]string{*c.CertificateArn}, have...)
		} else if *c.CertificateArn != want[0] { // AWS keeps the default one in the list as well, if it was there
			have = append(have, *c.CertificateArn)
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}
