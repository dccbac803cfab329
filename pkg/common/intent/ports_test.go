package intent

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// threePorts returns a Service with ssh (22), https (443) and dns (53/UDP).
func threePorts(edits ...func(*v1.Service)) *v1.Service {
	return web(append([]func(*v1.Service){func(svc *v1.Service) {
		svc.Spec.Ports = []v1.ServicePort{
			{Name: "ssh", Protocol: v1.ProtocolTCP, Port: 22, NodePort: 30022},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
			{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053},
		}
	}}, edits...)...)
}

func ranges(list ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = list }
}

func TestReadPortSourceRanges(t *testing.T) {
	both := func(svc *v1.Service) { svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }
	for name, tc := range map[string]struct {
		svc *v1.Service
		// want are the allowed ranges of ssh, https and dns; nil for all clients.
		want [3][]string
	}{
		"by name and number": {
			threePorts(annotated(KeyPortSourceRanges, "ssh=203.0.113.0/24 , 198.51.100.7/32; 443 = 10.0.0.0/8")),
			[3][]string{{"198.51.100.7/32", "203.0.113.0/24"}, {"10.0.0.0/8"}, nil},
		},
		"by number and protocol": {
			threePorts(annotated(KeyPortSourceRanges, "53/UDP=10.0.0.0/8")), [3][]string{nil, nil, {"10.0.0.0/8"}},
		},
		"narrower than the Service": {
			threePorts(annotated(KeyPortSourceRanges, "22=10.1.0.0/16"), ranges("10.0.0.0/8")),
			[3][]string{{"10.1.0.0/16"}, {"10.0.0.0/8"}, {"10.0.0.0/8"}},
		},
		"wider than the Service": {
			threePorts(annotated(KeyPortSourceRanges, "22=0.0.0.0/0"), ranges("10.0.0.0/8", "192.0.2.0/24")),
			[3][]string{{"10.0.0.0/8", "192.0.2.0/24"}, {"10.0.0.0/8", "192.0.2.0/24"}, {"10.0.0.0/8", "192.0.2.0/24"}},
		},
		"some of the Service's": {
			threePorts(annotated(KeyPortSourceRanges, "22=192.0.2.0/24,10.1.0.0/16"), ranges("10.0.0.0/8", "172.16.0.0/12")),
			[3][]string{{"10.1.0.0/16"}, {"10.0.0.0/8", "172.16.0.0/12"}, {"10.0.0.0/8", "172.16.0.0/12"}},
		},
		"with the annotation of the Service": {
			threePorts(annotated(KeyPortSourceRanges, "22=10.1.0.0/16", KeySourceRanges, "10.0.0.0/8")),
			[3][]string{{"10.1.0.0/16"}, {"10.0.0.0/8"}, {"10.0.0.0/8"}},
		},
		"one family closes the other": {
			threePorts(annotated(KeyPortSourceRanges, "22=10.1.0.0/16"), both), [3][]string{{"10.1.0.0/16"}, nil, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, warnings, err := Read(tc.svc, everything())
			if err != nil || len(warnings) > 0 {
				t.Fatalf("warnings %v, error %v", warnings, err)
			}
			for i, p := range in.Ports {
				if diff := cmp.Diff(prefixes(tc.want[i]...), in.RangesAt(p), comparePrefixes); diff != "" {
					t.Errorf("port %d (-want +got):\n%s", p.Port, diff)
				}
			}
		})
	}
}

func TestReadRefusesPortSourceRanges(t *testing.T) {
	for value, want := range map[string]string{
		"shh=10.0.0.0/8":               `the Service has no port "shh": did you mean ssh?`,
		"8443=10.0.0.0/8":              `the Service has no port "8443": did you mean 443?`,
		"53/TCP=10.0.0.0/8":            `the Service has no port "53/TCP": did you mean 53/UDP?`,
		"metrics=10.0.0.0/8":           `the Service has no port "metrics": write one of ssh (22), https (443), dns (53)`,
		"shh=10.0.0.0/8; x":            `did you mean ssh?; "x" is not PORT=CIDR,CIDR`,
		"10.0.0.0/8":                   "is not PORT=CIDR,CIDR",
		"22=":                          "port 22: entry 1 of the list is empty",
		"22=10.0.0.0/8;":               `"" is not PORT=CIDR,CIDR`,
		"22=10.0.0.1":                  "port 22: \"10.0.0.1\" lacks its prefix length: write 10.0.0.1/32",
		"22=10.0.0.1/8":                `"10.0.0.1/8" has bits behind its prefix: write 10.0.0.0/8`,
		"22=10.0.0.0/8;ssh=10.0.0.0/8": `the port "ssh" is listed twice`,
		"22=2001:db8::/32":             "no client could connect to the port 22",
		"":                             "the value is empty",
	} {
		t.Run(value, func(t *testing.T) {
			in, _, err := Read(threePorts(annotated(KeyPortSourceRanges, value)), everything())
			if err == nil || !strings.Contains(err.Error(), want) || !HasProblem(err, KeyPortSourceRanges) {
				t.Errorf("%v, want %q", err, want)
			}
			if in.RestrictsPorts() && value != "22=2001:db8::/32" {
				t.Errorf("some ports are restricted: %+v", in.Ports)
			}
		})
	}
	_, _, err := Read(threePorts(annotated(KeyPortSourceRanges, "22=10.1.0.0/16"), ranges("192.0.2.0/24")), everything())
	if err == nil || !strings.Contains(err.Error(), "those of the Service (spec.loadBalancerSourceRanges)") {
		t.Errorf("ranges that exclude each other: %v", err)
	}
}

// A client may connect to a port only if the ranges of the port and those of the Service contain its address.
func TestPortIsNeverMoreOpenThanWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := func() []string {
		var out []string
		for range random.IntN(4) {
			prefix, _ := netip.AddrFrom4([4]byte{10, byte(random.IntN(4)) << 6, 0, 0}).Prefix(random.IntN(12))
			out = append(out, prefix.String())
		}
		return out
	}
	allows := func(list []string, client netip.Addr) bool {
		return len(list) == 0 || slices.ContainsFunc(prefixes(list...), func(p netip.Prefix) bool { return p.Contains(client) })
	}
	read := 0
	for range 5000 {
		service, port := list(), list()
		svc := threePorts(ranges(service...))
		if len(port) > 0 {
			annotated(KeyPortSourceRanges, "ssh="+strings.Join(port, ","))(svc)
		}
		in, _, err := Read(svc, everything())
		if err != nil {
			continue
		}
		read++
		for range 20 {
			client := netip.AddrFrom4([4]byte{byte(random.IntN(12)), byte(random.IntN(256)), 1, 1})
			for i, want := range []bool{allows(service, client) && allows(port, client), allows(service, client)} {
				got := slices.ContainsFunc(in.AllowedAt(in.Ports[i], v1.IPv4Protocol),
					func(p netip.Prefix) bool { return p.Contains(client) })
				if got != want {
					t.Fatalf("Service %v, ssh %v: port %d is open to %s: %t, want %t", service, port, in.Ports[i].Port, client, got, want)
				}
			}
		}
	}
	if read < 2500 {
		t.Errorf("only %d of 5000 Services were read", read)
	}
}

// The ranges of a port are, of each pair of ranges that overlap, the narrower one.
func TestRangesAtComparesEveryPair(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	list := func() []netip.Prefix {
		var out []netip.Prefix
		for range 1 + random.IntN(8) {
			addr := netip.AddrFrom4([4]byte{10, byte(random.IntN(2)) << 7, byte(random.IntN(4)) << 6, 0})
			prefix, _ := addr.Prefix(6 + random.IntN(16))
			if random.IntN(4) == 0 {
				prefix, _ = netip.AddrFrom16([16]byte{0x20, 1, byte(random.IntN(4)) << 6}).Prefix(8 + random.IntN(16))
			}
			out = append(out, prefix)
		}
		return canonicalRanges(out)
	}
	for range 5000 {
		s, p := Service{SourceRanges: list()}, Port{SourceRanges: list()}
		want := []netip.Prefix{}
		for _, a := range s.SourceRanges {
			for _, b := range p.SourceRanges {
				if a.Overlaps(b) && a.Bits() > b.Bits() {
					want = append(want, a)
				} else if a.Overlaps(b) {
					want = append(want, b)
				}
			}
		}
		if got := s.RangesAt(p); !slices.Equal(got, canonicalRanges(want)) {
			t.Fatalf("%v and %v: %v, want %v", s.SourceRanges, p.SourceRanges, got, want)
		}
	}
}

func TestReadTLSAndForwardedHeaders(t *testing.T) {
	in, warnings, err := Read(threePorts(annotated(KeyTLSCertificate, "arn:x", KeyTLSPorts, "443/TCP, ssh",
		KeyForwardedHeaders, "https", KeyConnectionDrainingTimeout, "0s")), everything())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("warnings %v, error %v", warnings, err)
	}
	if diff := cmp.Diff(TLS{Certificate: "arn:x", Ports: []string{"443", "ssh"}}, in.TLS); diff != "" {
		t.Errorf("TLS (-want +got):\n%s", diff)
	}
	for i, want := range []bool{false, true, false} {
		if in.Ports[i].ForwardedHeaders != want || in.TLS.Selector()(in.Ports[i]) != (i < 2) {
			t.Errorf("port %+v: TLS %t", in.Ports[i], in.TLS.Selector()(in.Ports[i]))
		}
	}
	if in.DrainingTimeout == nil || *in.DrainingTimeout != 0 {
		t.Errorf("draining timeout %v, want 0s", in.DrainingTimeout)
	}
	all, _, err := Read(threePorts(annotated(KeyTLSCertificate, "arn:x", KeyTLSPorts, "*", KeyForwardedHeaders, "*")), everything())
	for i, want := range []bool{true, true, false} {
		if p := all.Ports[i]; err != nil || all.TLS.Selector()(p) != want || p.ForwardedHeaders != want {
			t.Errorf("with *: port %+v: TLS %t, error %v", p, all.TLS.Selector()(p), err)
		}
	}
}

func TestReadRefusesTLSAndForwardedHeaders(t *testing.T) {
	udp := func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[2:] }
	for name, tc := range map[string]struct {
		svc  *v1.Service
		key  string
		want string
	}{
		"two certificates":  {threePorts(annotated(KeyTLSCertificate, "a,b")), KeyTLSCertificate, "write one reference"},
		"no TCP port":       {threePorts(udp, annotated(KeyTLSCertificate, "a")), KeyTLSCertificate, "the Service has no TCP port"},
		"all ports, no TCP": {threePorts(udp, annotated(KeyForwardedHeaders, "*")), KeyForwardedHeaders, "the Service has no TCP port"},
		"misspelt ports": {threePorts(annotated(KeyTLSPorts, "htps,hssh")), KeyTLSPorts,
			"the Service has no port \"htps\": did you mean https?; the Service has no port \"hssh\": did you mean ssh?"},
		"a UDP port":   {threePorts(annotated(KeyTLSPorts, "dns")), KeyTLSPorts, "the port \"dns\" is not TCP"},
		"PROXY header": {threePorts(annotated(KeyForwardedHeaders, "https", KeyProxyProtocol, "v2")), KeyForwardedHeaders, "is set too"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Read(tc.svc, everything()); !HasProblem(err, tc.key) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// A cloud without TLS or X-Forwarded headers refuses the Service: plain text and headers that clients forge would be
// the alternatives.
func TestReadRefusesRequiredSettingsThatACloudLacks(t *testing.T) {
	svc := threePorts(annotated(KeyTLSCertificate, "a", KeyForwardedHeaders, "https", KeyTLSPorts, "https", KeyConnectionDrainingTimeout, "60s"))
	_, warnings, err := Read(svc, Vocabulary{Provider: "fake"})
	for _, key := range []string{KeyTLSCertificate, KeyForwardedHeaders} {
		if !HasProblem(err, key) {
			t.Errorf("no problem with %s: %v", key, err)
		}
	}
	for _, key := range []string{KeyTLSPorts, KeyConnectionDrainingTimeout} {
		if !slices.ContainsFunc(warnings, func(w Warning) bool { return w.Field == key && w.Reason == Unsupported }) || HasProblem(err, key) {
			t.Errorf("%s: warnings %v, error %v", key, warnings, err)
		}
	}
}
