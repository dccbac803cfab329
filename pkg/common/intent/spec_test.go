package intent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestReadSpec(t *testing.T) {
	port := func(protocol v1.Protocol, port, nodePort int32) v1.ServicePort {
		return v1.ServicePort{Protocol: protocol, Port: port, NodePort: nodePort}
	}
	noNodePorts := func(svc *v1.Service) {
		svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
		svc.Spec.Ports[0].NodePort = 0
	}
	for _, tc := range []struct {
		name   string
		edit   func(*v1.Service)
		vocab  func(*Vocabulary)
		expect func(*Service)
		err    string
	}{
		{
			name: "one port number on TCP and UDP",
			edit: func(svc *v1.Service) {
				svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 53, 30053), port(v1.ProtocolUDP, 53, 30053)}
			},
			expect: func(s *Service) {
				s.Ports = []Port{{Protocol: v1.ProtocolTCP, Port: 53, NodePort: 30053},
					{Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053}}
			},
		},
		{
			name: "a port twice, once by the default protocol",
			edit: func(svc *v1.Service) {
				svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 80, 30080), port("", 80, 30081)}
			},
			err: `spec.ports[1].port is "80": spec.ports[0] already takes TCP port 80: remove one of them`,
		},
		{name: "no ports", edit: func(svc *v1.Service) { svc.Spec.Ports = nil }, err: `spec.ports: a load balancer needs at least one port: add one`},
		{name: "a port out of range", edit: func(svc *v1.Service) { svc.Spec.Ports[0].Port = 65536 }, err: `spec.ports[0].port is "65536": write a number from 1 to 65535`},
		{
			name: "SCTP", edit: func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP },
			err: `spec.ports[0].protocol is "SCTP": the cloud fake forwards only TCP and UDP: use one of them`,
		},
		{
			name: "SCTP where the cloud forwards it", edit: func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP },
			vocab: func(v *Vocabulary) { v.SCTP = true }, expect: func(s *Service) { s.Ports[0].Protocol = v1.ProtocolSCTP },
		},
		{
			name: "an unknown protocol", edit: func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = "QUIC" },
			err: `spec.ports[0].protocol is "QUIC": write TCP or UDP`,
		},
		{
			name: "no node port on purpose", edit: noNodePorts,
			err: `spec.ports[0].nodePort: there is none and spec.allocateLoadBalancerNodePorts is false, but load balancers of the cloud fake reach pods through node ports: ` +
				`set spec.allocateLoadBalancerNodePorts to true, or write a node port`,
		},
		{
			name: "no node port on purpose where pools can be empty", edit: noNodePorts,
			vocab: func(v *Vocabulary) { v.NodePorts = NodePortsOptional }, expect: func(s *Service) {
				s.Ports[0].NodePort = 0
				s.AtCreation = []Problem{{Field: "spec.ports[0].nodePort", Fix: "there is none and spec.allocateLoadBalancerNodePorts is " +
					"false, but load balancers of the cloud fake reach pods through node ports: set " +
					"spec.allocateLoadBalancerNodePorts to true, or write a node port"}}
			},
		},
		{
			name: "no node port on purpose where none is used", edit: noNodePorts,
			vocab:  func(v *Vocabulary) { v.NodePorts = NodePortsUnused },
			expect: func(s *Service) { s.Ports[0].NodePort = 0 },
		},
		{
			name:   "a node port chosen although none is allocated",
			edit:   func(svc *v1.Service) { svc.Spec.AllocateLoadBalancerNodePorts = ptr.To(false) },
			expect: func(*Service) {},
		},
		{
			name:   "two families keep their order",
			edit:   func(svc *v1.Service) { svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol} },
			expect: func(s *Service) { s.Families = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol} },
		},
		{
			name:   "families from cluster IPs",
			edit:   func(svc *v1.Service) { svc.Spec.IPFamilies, svc.Spec.ClusterIPs = nil, []string{"2001:db8::1"} },
			expect: func(s *Service) { s.Families = []v1.IPFamily{v1.IPv6Protocol} },
		},
		{
			name: "families nowhere", edit: func(svc *v1.Service) {
				svc.Spec.IPFamilies, svc.Spec.ClusterIPs = nil,
					[]string{v1.ClusterIPNone}
			},
			expect: func(*Service) {},
		},
		{
			name: "families unknown and twice",
			edit: func(svc *v1.Service) {
				svc.Spec.IPFamilies = []v1.IPFamily{"IPv4", "IPv4", "IPX"}
			},
			err: `spec.ipFamilies[1] is "IPv4": the family is listed twice: list it once; spec.ipFamilies[2] is "IPX": write IPv4 or IPv6`,
		},
		{
			name: "local traffic probes the health check node port",
			edit: func(svc *v1.Service) {
				svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
			},
			expect: func(s *Service) {
				s.LocalTraffic = true
				s.HealthCheck = HealthCheck{Protocol: HealthCheckHTTP, Port: 32000, Path: "/healthz"}
				s.Sources = Sources{
					KeyHealthCheckProtocol: "spec.externalTrafficPolicy", KeyHealthCheckPath: "spec.externalTrafficPolicy",
					KeyHealthCheckPort: "spec.healthCheckNodePort",
				}
			},
		},
		{
			name:   "affinity with the default time",
			edit:   func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP },
			expect: func(s *Service) { s.ClientIPAffinity = 3 * time.Hour },
		},
		{
			name: "affinity with a time of its own",
			edit: func(svc *v1.Service) {
				svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
				svc.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](60)}}
			},
			expect: func(s *Service) { s.ClientIPAffinity = time.Minute },
		},
		{
			name: "source ranges of the spec", edit: func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{" 10.0.0.0/8 "} },
			expect: func(s *Service) {
				s.SourceRanges = prefixes("10.0.0.0/8")
				s.Sources = Sources{KeySourceRanges: "spec.loadBalancerSourceRanges"}
			},
		},
		{
			name: "the deprecated address", edit: func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "198.51.100.7" },
			expect: func(s *Service) {
				s.StaticAddresses = []string{"198.51.100.7"}
				s.Sources = Sources{KeyStaticAddresses: "spec.loadBalancerIP"}
			},
		},
		{
			name: "the deprecated address in the other family", edit: func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "2001:db8::1" },
			err: `spec.loadBalancerIP is "2001:db8::1": it is IPv6, but the Service is IPv4 (spec.ipFamilies): use an address of that family`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vocabulary := everything()
			if tc.vocab != nil {
				tc.vocab(&vocabulary)
			}
			got, warnings, err := Read(web(tc.edit), vocabulary)
			if tc.err != "" {
				if want := "Service default/web: " + tc.err + " (invalid)"; errText(err) != want {
					t.Errorf("error\n got: %v\nwant: %s", err, want)
				}
				return
			}
			if err != nil || len(warnings) > 0 {
				t.Fatalf("Read: %v, warnings %v", err, warnings)
			}
			if diff := cmp.Diff(plainIntent(tc.expect), got, comparePrefixes, ignoreFields); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllowedAt(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ranges []string
		v4, v6 []string
	}{
		{"no ranges let everyone in", nil, []string{"0.0.0.0/0"}, []string{"::/0"}},
		{"each family has its own", []string{"10.0.0.0/8", "2001:db8::/32"}, []string{"10.0.0.0/8"}, []string{"2001:db8::/32"}},
		{"ranges of one family shut the other", []string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Service{SourceRanges: prefixes(tc.ranges...)}
			if diff := cmp.Diff(prefixes(tc.v4...), s.AllowedAt(Port{}, v1.IPv4Protocol), comparePrefixes); diff != "" {
				t.Errorf("IPv4 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(prefixes(tc.v6...), s.AllowedAt(Port{}, v1.IPv6Protocol), comparePrefixes); diff != "" {
				t.Errorf("IPv6 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsNameWhatTheUserWrote(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*v1.Service)
		key  string
		want string
	}{
		{"annotation", annotated(KeyStaticAddresses, "192.0.2.1"), KeyStaticAddresses, KeyStaticAddresses},
		{"field", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "192.0.2.1" }, KeyStaticAddresses, "spec.loadBalancerIP"},
		{"beta annotation", annotated(beta, "10.0.0.0/8"), KeySourceRanges, beta},
		{"local traffic", func(svc *v1.Service) {
			svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		}, KeyHealthCheckPort, "spec.healthCheckNodePort"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, _, err := Read(web(tc.edit), everything())
			if err != nil {
				t.Fatal(err)
			}
			problems := in.NewProblems()
			problems.Add(tc.key, "", "write something else")
			if want := "x: " + tc.want + ": write something else (invalid)"; errText(problems.Err("x")) != want {
				t.Errorf("error %v, want %s", problems.Err("x"), want)
			}
		})
	}
}
