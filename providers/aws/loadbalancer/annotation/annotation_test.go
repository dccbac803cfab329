package annotation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012"

// service reads a Service as the controller does before this package has its turn.
func service(t *testing.T, annotations map[string]string, change ...func(*v1.Service)) intent.Service {
	t.Helper()
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: annotations}, Spec: v1.ServiceSpec{
		IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
		Ports:      []v1.ServicePort{{Name: "Https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443}},
	}}
	for _, f := range change {
		f(svc)
	}
	in, _, err := intent.Read(svc, Vocabulary("aws"))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Every annotation is documented, and the example in its documentation works.
func TestEveryAnnotationIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, doc := range Documentation() {
		if doc.Type == "" || doc.Doc == "" || doc.Example == "" || seen[doc.Key] {
			t.Errorf("%s lacks documentation, or has it twice", doc.Key)
		}
		seen[doc.Key] = true
		if !slices.ContainsFunc(Prefixes(), func(p string) bool { return strings.HasPrefix(doc.Key, p) }) {
			t.Errorf("%s begins like none of ours", doc.Key)
		}
		annotations := map[string]string{KeyType: "nlb", doc.Key: doc.Example, KeyAccessLogBucket: "logs"}
		if doc.Key == KeyExtraSecurityGroups {
			delete(annotations, KeyType)
		}
		if _, err := Read(service(t, annotations)); err != nil {
			t.Errorf("the example of %s is refused: %v", doc.Key, err)
		}
	}
	for key := range Advice() {
		if seen[key] {
			t.Errorf("%s is honoured and has advice", key)
		}
	}
}

func TestTypeOf(t *testing.T) {
	for value, want := range map[string]Type{"nlb": Network, "nlb-ip": External, "external": External, "": Classic, "NLB": Classic, "elb": Classic} {
		if got := TypeOf(map[string]string{KeyType: value}); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name        string
		annotations map[string]string
		want        Options
	}{
		{"nothing", nil, Options{Type: Classic}},
		{"empty values mean not set", map[string]string{KeySubnets: "", KeyCrossZone: "", KeyInternal: "", KeyCertificates: " "}, Options{Type: Classic}},
		{"lists with spaces and empty entries of templates", map[string]string{KeySubnets: " subnet-1, public-b ,"}, Options{Type: Classic, Subnets: []string{"subnet-1", "public-b"}}},
		{"tags end at the second equal sign", map[string]string{KeyTags: "a=1=2,b=,c"}, Options{Type: Classic, Tags: map[string]string{"a": "1", "b": "", "c": ""},
			Warnings: []string{KeyTags + ": a value is cut at its second equal sign; to keep all of it, write load-balancer.unified-ccm.io/tags instead"}}},
		{"empty entries and duplicates", map[string]string{KeyType: "nlb", KeyTags: "a=1,,a=2,", KeyNodeLabels: "pool=x,pool=y,",
			KeyGroupAttributes: "stickiness.enabled=true,stickiness.enabled=false,", KeyCertificates: certificate, KeyTLSPorts: "443,443,"},
			Options{Type: Network, Tags: map[string]string{"a": "2"}, NodeLabels: map[string]string{"pool": "y"},
				GroupAttributes: map[string]string{"stickiness.enabled": "false"}, Certificates: []string{certificate}, TLSPorts: sets.New("443"),
				Warnings: []string{KeyTags + `: "a" is given twice, and the last one takes effect; give it once`,
					KeyNodeLabels + `: "pool" is given twice, and the last one takes effect; give it once`,
					KeyTLSPorts + `: "443" is given twice, and the last one takes effect; give it once`,
					KeyGroupAttributes + `: "stickiness.enabled" is given twice, and the last one takes effect; give it once`}}},
		{"values that network load balancers ignore", map[string]string{KeyType: "nlb", KeyProxyProtocol: "true", KeyIdleTimeout: "350s", KeyDraining: "yes",
			KeyDrainTimeout: "0", KeyAccessLogInterval: "10"}, Options{Type: Network}},
		{"portable tags keep theirs", map[string]string{intent.KeyTags: "a=1=2"}, Options{Type: Classic, Tags: map[string]string{"a": "1=2"}}},
		{"any other text is internal", map[string]string{KeyInternal: "0.0.0.0/0"}, Options{Type: Classic, Internal: true,
			Warnings: []string{KeyInternal + `: "0.0.0.0/0" makes the load balancer internal, as every text but false does; write true or false`}}},
		{"portable scheme", map[string]string{intent.KeyScheme: "internal"}, Options{Type: Classic, Internal: true}},
		{"several certificates", map[string]string{KeyType: "nlb", KeyCertificates: certificate + "," + certificate + "b", KeyTLSPorts: "*"},
			Options{Type: Network, Certificates: []string{certificate, certificate + "b"}}},
		{"health check", map[string]string{KeyHealthCheckProtocol: "http", KeyHealthCheckPort: "traffic-port", KeyHealthCheckInterval: "20", intent.KeyHealthCheckTimeout: "5s"},
			Options{Type: Classic, HealthCheck: HealthCheck{Protocol: "HTTP", Port: TrafficPort, Interval: 20 * time.Second, Timeout: 5 * time.Second}}},
		{"PROXY protocol of a network load balancer", map[string]string{KeyType: "nlb", intent.KeyProxyProtocol: "v2"},
			Options{Type: Network, GroupAttributes: map[string]string{AttributeProxyProtocol: "true"}}},
		{"PROXY protocol of a classic one", map[string]string{intent.KeyProxyProtocol: "v1"}, Options{Type: Classic, ProxyProtocol: true}},
		{"addresses", map[string]string{KeyType: "nlb", intent.KeyStaticAddresses: "eipalloc-1,eipalloc-2"}, Options{Type: Network, Allocations: []string{"eipalloc-1", "eipalloc-2"}}},
		{"the idle timeout of classic ones is not that of network ones", map[string]string{KeyType: "nlb", KeyIdleTimeout: "5"}, Options{Type: Network}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read(service(t, tc.annotations))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Options{}, "Sources")); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

// Every bad value that takes effect is refused with its key and a way out, and all of them at once.
func TestBadValues(t *testing.T) {
	bad := map[string]string{
		KeySubnets: ",", KeySecurityGroups: "web", KeyExtraSecurityGroups: "sg-1,sg-1", KeyIPv6: "10.0.0.1",
		KeyTags: "=x", KeyCertificates: "arn:x", KeyTLSPolicy: "a b", KeyProxyProtocol: "true", KeyCrossZone: "on", KeyAccessLog: "ja",
		KeyAccessLogInterval: "10", KeyDraining: "2", KeyDrainTimeout: "x", KeyIdleTimeout: "0", KeyHealthCheckProtocol: "udp", KeyHealthCheckPort: "70000",
		KeyHealthCheckHealthy: "1", KeyHealthCheckUnhealthy: "11", KeyHealthCheckTimeout: "5s", KeyHealthCheckInterval: "4",
		KeyGroupAttributes: "stickiness.enabled=yes", KeyNodeLabels: "=", KeyName: "a_b", KeyTargetType: "pod",
	}
	_, err := Read(service(t, bad))
	if !cloudapi.Is(err, cloudapi.Invalid) {
		t.Fatalf("error %v", err)
	}
	for key := range bad {
		if !intent.HasProblem(err, key) {
			t.Errorf("nothing is said about %s", key)
		}
	}
}

func TestBadValuesAreRefusedWhereTheyTakeEffect(t *testing.T) {
	const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/aaaaaaaa-1234-1234-1234-123456789012"
	for _, tt := range []struct {
		key         string
		annotations map[string]string
		refused     bool
	}{
		{KeyBackendProtocol, map[string]string{KeyBackendProtocol: "grpc"}, false},
		{KeyBackendProtocol, map[string]string{KeyBackendProtocol: "grpc", KeyCertificates: certificate}, true},
		{KeyBackendProtocol, map[string]string{KeyBackendProtocol: "grpc", KeyCertificates: certificate, KeyType: "nlb"}, false},
		{KeyHealthCheckPath, map[string]string{KeyHealthCheckPath: "x"}, false},
		{KeyHealthCheckPath, map[string]string{KeyHealthCheckPath: "x", KeyHealthCheckProtocol: "http"}, true},
		{KeyAllocations, map[string]string{KeyAllocations: "1.2.3.4"}, false},
		{KeyAllocations, map[string]string{KeyAllocations: "1.2.3.4", KeyType: "nlb"}, true},
		{KeyPrivateIPv4, map[string]string{KeyPrivateIPv4: "::1"}, false},
		{KeyPrivateIPv4, map[string]string{KeyPrivateIPv4: "::1", KeyType: "nlb"}, true},
	} {
		if _, err := Read(service(t, tt.annotations)); intent.HasProblem(err, tt.key) != tt.refused {
			t.Errorf("%v: %v, want refused %t", tt.annotations, err, tt.refused)
		}
	}
}

func TestContradictions(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"scheme":        {KeyInternal: "true", intent.KeyScheme: "public"},
		"subnets":       {KeySubnets: "a", intent.KeySubnets: "b"},
		"tags":          {KeyTags: "a=1", intent.KeyTags: "a=2"},
		"health check":  {KeyHealthCheckInterval: "10", intent.KeyHealthCheckInterval: "20s"},
		"proxy version": {KeyType: "nlb", intent.KeyProxyProtocol: "v1"},
		"proxy twice":   {KeyType: "nlb", intent.KeyProxyProtocol: "off", KeyGroupAttributes: AttributeProxyProtocol + "=true"},
		"logs":          {KeyAccessLog: "true"},
		"timeout":       {KeyHealthCheckInterval: "10", KeyHealthCheckTimeout: "20"},
		"address":       {KeyType: "nlb", intent.KeyStaticAddresses: "192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(service(t, annotations)); !cloudapi.Is(err, cloudapi.Invalid) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestForwardedHeadersOfNetworkLoadBalancers: the answer does not depend on the ports that are named: to
// correct them would have no effect.
func TestForwardedHeadersOfNetworkLoadBalancers(t *testing.T) {
	for _, ports := range []string{"443", "Https", "*", "http"} {
		t.Run(ports, func(t *testing.T) {
			svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: map[string]string{
				KeyType: "nlb", intent.KeyForwardedHeaders: ports,
			}}, Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Name: "Https", Protocol: v1.ProtocolTCP, Port: 443}}}}
			in, _, _ := intent.Read(svc, Vocabulary("aws")) // Its problem with the last value is not this one.
			if _, err := Read(in); err == nil || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestGroupAttributesSuggest(t *testing.T) {
	_, _, err := parseGroupAttributes("proxy_protocol_v2.enable=true")
	if err == nil || !strings.Contains(err.Error(), "did you mean "+AttributeProxyProtocol) {
		t.Errorf("error %v", err)
	}
}

func TestTLSPort(t *testing.T) {
	o := Options{Certificates: []string{certificate}, TLSPorts: sets.New("8443", "https")}
	for _, tc := range []struct {
		name string
		port int32
		want bool
	}{{"Https", 443, true}, {"web", 8443, true}, {"web", 80, false}, {"", 80, false}} {
		if got := o.TLSPort(tc.name, tc.port); got != tc.want {
			t.Errorf("port %s %d: %t", tc.name, tc.port, got)
		}
	}
}
