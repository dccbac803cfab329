package names

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// The expected values in this file are what clusters on AWS contain. A change here is a mistake.

const uid = types.UID("0123abcd-4567-89ef-0123-456789abcdef")

func TestLoadBalancerName(t *testing.T) {
	for in, want := range map[types.UID]string{uid: "a0123abcd456789ef0123456789abcde", "": "a", "short": "ashort"} {
		if got := LoadBalancerName(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestTargetGroupName(t *testing.T) {
	base := TargetGroup{
		ClusterID: "prod", Service: types.NamespacedName{Namespace: "kube-system", Name: "web"}, Port: 80, NodePort: 30080,
		Protocol: "TCP", TargetType: "instance", HealthProtocol: "TCP", HealthInterval: 30,
	}
	// printf 'prodkube-systemweb8030080TCPinstanceTCP30' | sha1sum
	if got, want := TargetGroupName(base), "k8s-kubesyst-web-c32c65ed35"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]bool{TargetGroupName(base): true}
	for name, change := range map[string]func(*TargetGroup){
		"cluster": func(g *TargetGroup) { g.ClusterID = "test" }, "namespace": func(g *TargetGroup) { g.Service.Namespace = "default" },
		"name": func(g *TargetGroup) { g.Service.Name = "api" }, "port": func(g *TargetGroup) { g.Port = 81 },
		"node port": func(g *TargetGroup) { g.NodePort = 30081 }, "protocol": func(g *TargetGroup) { g.Protocol = "UDP" },
		"target type": func(g *TargetGroup) { g.TargetType = "ip" }, "health protocol": func(g *TargetGroup) { g.HealthProtocol = "HTTP" },
		"interval": func(g *TargetGroup) { g.HealthInterval = 10 }, "variant": func(g *TargetGroup) { g.Variant = "ipv6" },
	} {
		g := base
		change(&g)
		n := TargetGroupName(g)
		if seen[n] {
			t.Errorf("%s does not change the name", name)
		}
		seen[n] = true
		if len(n) > 32 {
			t.Errorf("%s: %s is too long", name, n)
		}
	}
}

func TestGroupNames(t *testing.T) {
	service := types.NamespacedName{Namespace: "name-space", Name: "my.long-service"}
	for got, want := range map[string]string{
		ClassicGroupName("a0123"):                       "k8s-elb-a0123",
		ClassicGroupDescription("a0123", service):       "Security group for Kubernetes ELB a0123 (name-space/my.long-service)",
		ManagedGroupDescription:                         "[k8s] Managed SecurityGroup for LoadBalancer",
		ManagedGroupName("kubernetes", service, uid):    "k8s-namespac-mylongse-d3fc443100",
		ClientRule("a0123"):                             "kubernetes.io/rule/nlb/client=a0123",
		HealthRule("a0123"):                             "kubernetes.io/rule/nlb/health=a0123",
		MTURule:                                         "kubernetes.io/rule/nlb/mtu",
		ProxyProtocolPolicy:                             "k8s-proxyprotocol-enabled",
		SSLNegotiationPolicy("ELBSecurityPolicy-TLS-1"): "k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1",
		ClusterTag("prod"):                              "kubernetes.io/cluster/prod",
		LegacyClusterTag:                                "KubernetesCluster",
		ServiceTag:                                      "kubernetes.io/service-name",
		ServiceTagValue(service):                        "name-space/my.long-service",
		RoleELBTag:                                      "kubernetes.io/role/elb",
		RoleInternalELBTag:                              "kubernetes.io/role/internal-elb",
		ClusterUIDTag:                                   "unified-ccm.io/cluster-uid",
		AppliedTag:                                      "unified-ccm.io/applied",
		TargetsTag:                                      "unified-ccm.io/targets",
		TaggedLabel:                                     "k8s.io/cloud-provider-aws",
		ZoneIDLabel:                                     "topology.k8s.aws/zone-id",
		NetworkNodeLabelPrefix + "1":                    "topology.k8s.aws/network-node-layer-1",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTags(t *testing.T) {
	tests := []struct {
		name            string
		tags            map[string]string
		has, owned, any bool
	}{
		{name: "none"},
		{name: "owned", tags: map[string]string{"kubernetes.io/cluster/prod": "owned"}, has: true, owned: true, any: true},
		{name: "shared", tags: map[string]string{"kubernetes.io/cluster/prod": "shared"}, has: true, any: true},
		{name: "empty value", tags: map[string]string{"kubernetes.io/cluster/prod": ""}, has: true, any: true},
		{name: "another cluster's", tags: map[string]string{"kubernetes.io/cluster/test": "owned"}, any: true},
		{name: "legacy", tags: map[string]string{"KubernetesCluster": "prod"}, has: true, owned: true},
		{name: "another cluster's legacy", tags: map[string]string{"KubernetesCluster": "test"}},
		{name: "longer ID", tags: map[string]string{"kubernetes.io/cluster/prod2": "owned"}, any: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if HasCluster(tt.tags, "prod") != tt.has || OwnedByCluster(tt.tags, "prod") != tt.owned || HasAnyCluster(tt.tags) != tt.any {
				t.Errorf("got %v, %v, %v", HasCluster(tt.tags, "prod"), OwnedByCluster(tt.tags, "prod"), HasAnyCluster(tt.tags))
			}
		})
	}
	service := types.NamespacedName{Namespace: "ns", Name: "web"}
	want := map[string]string{"kubernetes.io/cluster/prod": "owned", "kubernetes.io/service-name": "ns/web", "KubernetesCluster": "prod"}
	if diff := cmp.Diff(want, OwnerTags("prod", true, service)); diff != "" {
		t.Errorf("system tags (-want +got):\n%s", diff)
	}
	delete(want, LegacyClusterTag)
	if diff := cmp.Diff(want, OwnerTags("prod", false, service)); diff != "" {
		t.Errorf("system tags (-want +got):\n%s", diff)
	}
}

func TestProviderIDs(t *testing.T) {
	const foreign, malformed = "foreign", "malformed"
	tests := []struct{ name, in, want, region string }{
		{name: "current", in: "aws:///us-west-2a/i-0123456789abcdef0", want: "i-0123456789abcdef0"},
		{name: "without a zone", in: "aws:////i-0123", want: "i-0123"},
		{name: "short", in: "aws:///i-0123", want: "i-0123"},
		{name: "host", in: "aws://us-west-2a/i-0123", want: "i-0123"},
		{name: "any host", in: "aws://x/i-0123", want: "i-0123"},
		{name: "bare", in: "i-0123", want: "i-0123"},
		{name: "fargate", in: "aws:///us-west-2a/fargate-ip-10-0-1-2.us-west-2.compute.internal", want: "fargate-ip-10-0-1-2.us-west-2.compute.internal"},
		{name: "fargate with its pod", in: "aws:///us-west-2a/7d0b/fargate-10.0.1.2", want: "fargate-10.0.1.2"},
		{name: "invented ID", in: "aws:///us-west-2a/i-kwok-node-1", want: "i-kwok-node-1"},
		{name: "local zone", in: "aws:///us-west-2-lax-1a/i-0123", want: "i-0123"},
		{name: "another region", in: "aws:///us-east-1a/i-0123", want: foreign},
		{name: "another region, longer", in: "aws:///us-west-21a/i-0123", want: foreign},
		{name: "another region, ours unknown", in: "aws:///us-east-1a/i-0123", want: "i-0123", region: "-"},
		{name: "another cloud", in: "gce://p/us-west-2a/i-0123", want: foreign},
		{name: "hybrid", in: "eks-hybrid:///us-west-2/c/mi-0123", want: foreign},
		{name: "empty", in: "", want: malformed},
		{name: "no ID", in: "aws:///us-west-2a/", want: malformed},
		{name: "no instance", in: "aws:///us-west-2a/vol-0123", want: malformed},
		{name: "nothing behind the dash", in: "i-", want: malformed},
		{name: "a line feed in the ID", in: "aws:///us-west-2a/i-0123\nx", want: malformed},
		{name: "a name", in: "worker-1", want: malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scheme := ProviderIDs(func() string { return strings.TrimPrefix(region(tt.region), "-") })
			got, err := scheme.Parse(tt.in)
			var foreignID *instances.ForeignIDError
			switch {
			case errors.As(err, &foreignID):
				got = foreign
			case err != nil:
				got = malformed
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
	got, err := ProviderIDs(func() string { return "" }).Format(instances.Fields{FieldZone: "us-west-2a", FieldID: "i-0123"})
	if err != nil || got != "aws:///us-west-2a/i-0123" {
		t.Errorf("formatted %q, %v", got, err)
	}
}

func region(text string) string {
	if text == "" {
		return "us-west-2"
	}
	return text
}

func TestRegionOfZone(t *testing.T) {
	for zone, want := range map[string]string{
		"us-west-2a": "us-west-2", "us-gov-east-1b": "us-gov-east-1", "ap-southeast-2-per-1a": "ap-southeast-2", "us-east-1-wl1-bos-wlz-1": "us-east-1",
		"eusc-de-east-1a": "eusc-de-east-1", "us-west-2": "", "": "", "x": "", "zone-a": "", "zone-1a": "",
	} {
		got, ok := RegionOfZone(zone)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", zone, got, want)
		}
	}
}
