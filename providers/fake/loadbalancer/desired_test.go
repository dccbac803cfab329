package loadbalancer

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

// web is a public Service with one port.
func web(changes ...func(*intent.Service)) intent.Service {
	in := intent.Service{
		Namespace: "default", Name: "web", UID: testUID,
		Ports:    []intent.Port{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		Families: []v1.IPFamily{v1.IPv4Protocol},
		Scheme:   intent.Public,
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func sharedState() SharedState { return SharedState{Zones: []string{"a", "b"}} }

func twoTargets() []target { return []target{{"i-1", "a"}, {"i-2", "b"}} }

func mustDesire(t *testing.T, in intent.Service, targets []target) Desired {
	t.Helper()
	d, err := desire(testKey(), in, targets, sharedState())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func defaultCheck() api.HealthCheck {
	return api.HealthCheck{Protocol: "TCP", IntervalSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2,
		UnhealthyThreshold: 3}
}

func TestDesireFillsInEveryField(t *testing.T) {
	t.Parallel()
	tags := map[string]string{
		TagCluster: "prod", TagClusterUID: "c-1", TagService: "default/web",
		"team": "web", TagExtraKeys: "team",
	}
	const name = "k8s-default-web-1a2b3c4d"
	want := Desired{
		LoadBalancer: api.LoadBalancerSpec{
			Name: name, Cluster: "prod", Scheme: "public", Families: []string{"IPv4",
				"IPv6"}, Subnets: []string{"s-1"}, Tags: tags,
		},
		Addresses: []api.AddressSpec{
			{Name: name + "-ipv4-198.51.100.7", Family: "IPv4", IP: "198.51.100.7", Cluster: "prod", Tags: tags},
			{Name: name + "-ipv6", Family: "IPv6", Cluster: "prod", Tags: tags},
		},
		Pools: []api.Pool{
			{
				Name: "tcp-80", Protocol: "TCP", ProxyProtocol: 2, AffinitySeconds: 10800, Members: []api.Member{{InstanceID: "i-1",
					Port: 30080}, {InstanceID: "i-2", Port: 30080}},
				HealthCheck: api.HealthCheck{Protocol: "HTTP", Port: 32000, Path: "/healthz", IntervalSeconds: 3, TimeoutSeconds: 3,
					HealthyThreshold: 2, UnhealthyThreshold: 5},
			},
			{
				Name: "udp-80", Protocol: "UDP", AffinitySeconds: 10800, Members: []api.Member{{InstanceID: "i-1", Port: 30081},
					{InstanceID: "i-2", Port: 30081}},
				HealthCheck: api.HealthCheck{Protocol: "HTTP", Port: 32000, Path: "/healthz", IntervalSeconds: 3, TimeoutSeconds: 3,
					HealthyThreshold: 2, UnhealthyThreshold: 5},
			},
		},
		Listeners: []api.Listener{
			{Name: "tcp-80", Protocol: "TCP", Port: 80, Pool: "tcp-80", SourceRanges: []string{"10.0.0.0/8"}, IdleTimeoutSeconds: 300},
			{Name: "udp-80", Protocol: "UDP", Port: 80, Pool: "udp-80", SourceRanges: []string{"10.0.0.0/8"}, IdleTimeoutSeconds: 300},
		},
	}
	got := mustDesire(t, web(func(in *intent.Service) {
		in.Ports = append(in.Ports, intent.Port{Protocol: v1.ProtocolUDP, Port: 80, NodePort: 30081})
		in.Families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		in.SourceRanges = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		in.ProxyProtocol = 2
		in.HealthCheck = intent.HealthCheck{Protocol: intent.HealthCheckHTTP, Port: 32000, Path: "/healthz",
			Interval: 3 * time.Second, UnhealthyThreshold: 5}
		in.IdleTimeout = 5 * time.Minute
		in.StaticAddresses = []string{"198.51.100.7"}
		in.Tags = map[string]string{"team": "web"}
		in.Subnets = []string{"s-1"}
		in.ClientIPAffinity = 3 * time.Hour
	}), twoTargets())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("desire (-want +got):\n%s", diff)
	}
}

func TestDesireHealthCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   intent.HealthCheck
		want func(*api.HealthCheck)
	}{
		"defaults":                      {intent.HealthCheck{}, func(*api.HealthCheck) {}},
		"a short interval, no timeout":  {intent.HealthCheck{Interval: 2 * time.Second}, func(h *api.HealthCheck) { h.IntervalSeconds, h.TimeoutSeconds = 2, 2 }},
		"HTTP without a path":           {intent.HealthCheck{Protocol: intent.HealthCheckHTTP}, func(h *api.HealthCheck) { h.Protocol, h.Path = "HTTP", "/" }},
		"TCP has no path":               {intent.HealthCheck{Path: "/x"}, func(*api.HealthCheck) {}},
		"half a second is not zero":     {intent.HealthCheck{Timeout: time.Second / 2}, func(h *api.HealthCheck) { h.TimeoutSeconds = 1 }},
		"thresholds as the user has it": {intent.HealthCheck{HealthyThreshold: 7, UnhealthyThreshold: 8}, func(h *api.HealthCheck) { h.HealthyThreshold, h.UnhealthyThreshold = 7, 8 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := defaultCheck()
			test.want(&want)
			if diff := cmp.Diff(want, desireHealthCheck(test.in)); diff != "" {
				t.Errorf("desireHealthCheck (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDesireMemberZones(t *testing.T) {
	t.Parallel()
	got := mustDesire(t, web(func(in *intent.Service) {
		in.Annotations = map[string]string{annotation.KeyMemberZones: " b "}
	}), twoTargets())
	if diff := cmp.Diff([]api.Member{{InstanceID: "i-2", Port: 30080}}, got.Pools[0].Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestDesireReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := desire(testKey(), web(func(in *intent.Service) {
		in.Annotations = map[string]string{annotation.KeyMemberZones: "a,z"}
		in.StaticAddresses = []string{"addr-1", "2001:db8::7", "198.51.100.7", "198.51.100.8"}
		in.Tags = map[string]string{TagCluster: "mine"}
	}), nil, sharedState())
	if !cloudapi.Is(err, cloudapi.Invalid) {
		t.Fatalf("error %v has class %q, want %q", err, cloudapi.ClassOf(err), cloudapi.Invalid)
	}
	for _, part := range []string{
		"Service default/web",
		annotation.KeyMemberZones + ` is "a,z": "z" is not a zone of this region; its zones are a, b`,
		`"addr-1": write an IP address`,
		`"2001:db8::7": it is an IPv6 address, and spec.ipFamilies does not list IPv6`,
		`"198.51.100.8": 198.51.100.7 is listed too`,
		TagCluster,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
}

func TestDesireRefusesStaticAddressOfInternal(t *testing.T) {
	t.Parallel()
	_, err := desire(testKey(), web(func(in *intent.Service) {
		in.Scheme = intent.Internal
		in.StaticAddresses = []string{"198.51.100.7"}
	}), nil, sharedState())
	if !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("error = %v, want one of class %q", err, cloudapi.Invalid)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	instanceID := func(id string) (string, error) {
		if rest, ok := strings.CutPrefix(id, "fake://a/"); ok {
			return rest, nil
		}
		return "", errForeign
	}
	node := func(id string) *v1.Node { return &v1.Node{Spec: v1.NodeSpec{ProviderID: id}} }
	got := targetsOf([]*v1.Node{node("fake://a/i-2"), node(""), node("aws:///a/i-9"), node("fake://a/i-1"),
		node("fake://a/i-1")}, instanceID)
	if diff := cmp.Diff([]target{{instanceID: "i-1"}, {instanceID: "i-2"}}, got,
		cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}
