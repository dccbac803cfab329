package names

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

const (
	uid    = "2f2c1d67-33f5-4a65-8d7a-7d4c5a3e9b10"
	server = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
)

// The texts below are in clouds already: a change here is a change of what exists.
func TestNamesNeverChange(t *testing.T) {
	t.Parallel()
	service := types.NamespacedName{Namespace: "default", Name: "web"}
	lb := LoadBalancer("kubernetes", service)
	for _, tt := range []struct{ what, got, want string }{
		{"load balancer", lb, "kube_service_kubernetes_default_web"},
		{"legacy load balancer", LegacyLoadBalancer(uid), "a2f2c1d6733f54a658d7a7d4c5a3e9b1"},
		{"load balancer's description", LoadBalancerDescription("kubernetes", service), "Kubernetes external service default/web from cluster kubernetes"},
		{"listener", Listener(0, lb), "listener_0_kube_service_kubernetes_default_web"},
		{"pool", Pool(1, lb), "pool_1_kube_service_kubernetes_default_web"},
		{"health monitor", HealthMonitor(2, lb), "monitor_2_kube_service_kubernetes_default_web"},
		{"member", SerialMember("node-1", "10.0.0.4", 30080), "member_node-1_10.0.0.4_30080"},
		{"security group", SecurityGroup(uid, service), "lb-sg-" + uid + "-default-web"},
		{"security group's description", SecurityGroupDescription("kubernetes", service), "Security Group for default/web Service LoadBalancer in cluster kubernetes"},
		{"floating IP's description", FloatingIPDescription("kubernetes", service), "Floating IP for Kubernetes external service default/web from cluster kubernetes"},
		{"Service's tag", ServiceTag(lb), "kube_service_kubernetes_default_web"},
		{"cluster's tag", ClusterTag(uid), "unified-ccm:cluster=" + uid},
		{"tag of the applied record", AppliedTagPrefix, "unified-ccm:applied="},
		{"tag of what was taken over without monitors", UnmonitoredTag, "unified-ccm:unmonitored"},
		{"tag of a route", RouteTag(uid, "10.244.1.0/24", "10.0.0.4"), "unified-ccm:route=51b7566d-3e8aa55726177066"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}

func TestNamesAreTruncatedAt255Bytes(t *testing.T) {
	t.Parallel()
	long := types.NamespacedName{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("s", 63)}
	cluster := strings.Repeat("c", 200)
	lb := LoadBalancer(cluster, long)
	for what, name := range map[string]string{
		"load balancer": lb, "listener": Listener(12, lb), "pool": Pool(0, lb), "health monitor": HealthMonitor(3, lb),
		"member": SerialMember(strings.Repeat("n", 250), "10.0.0.4", 1), "security group": SecurityGroup(uid, types.NamespacedName{Namespace: cluster, Name: cluster}),
	} {
		if len(name) != 255 {
			t.Errorf("the name of the %s has %d bytes, want 255", what, len(name))
		}
	}
	for _, tag := range []string{ClusterTag(uid), RouteTag(uid, "2001:db8:1234:5678:9abc:def0::/112", "2001:db8:1234:5678:9abc:def0:1234:5678")} {
		if len(tag) > 60 {
			t.Errorf("Neutron stores no more than 60 characters of a tag, and %q has %d", tag, len(tag))
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	tags := []string{"kube_service_a_b_c", "mine", ClusterTag(uid)}
	if got := ClusterUID(tags); got != uid {
		t.Errorf("ClusterUID = %q, want %q", got, uid)
	}
	if got := ClusterUID([]string{"mine"}); got != "" {
		t.Errorf("ClusterUID without the tag = %q, want none", got)
	}
	if got, want := Services(tags), []string{"kube_service_a_b_c"}; !slices.Equal(got, want) {
		t.Errorf("Services = %q, want %q", got, want)
	}
}

func TestProviderIDs(t *testing.T) {
	t.Parallel()
	const ours = "RegionOne"
	for _, tt := range []struct {
		name, text string
		foreign    bool
		malformed  bool
	}{
		{name: "without a region", text: "openstack:///" + server},
		{name: "with our region", text: "openstack://RegionOne/" + server},
		{name: "with another region", text: "openstack://RegionTwo/" + server, foreign: true},
		{name: "without the scheme", text: "/" + server},
		{name: "without the scheme, with our region", text: "RegionOne/" + server},
		{name: "bare", text: server},
		{name: "without hyphens", text: "openstack:///" + strings.ReplaceAll(server, "-", "")},
		{name: "of another cloud", text: "aws:///eu-1a/i-0123", foreign: true},
		{name: "without a path", text: "openstack://" + server, malformed: true},
		{name: "with a part too many", text: "openstack://RegionOne/x/" + server, malformed: true},
		{name: "with an ID that Nova has never made", text: "openstack:///web-1", malformed: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id, err := ProviderIDs(ours).Parse(tt.text)
			var foreign *instances.ForeignIDError
			var malformed *instances.MalformedIDError
			if errors.As(err, &foreign) != tt.foreign || errors.As(err, &malformed) != tt.malformed {
				t.Fatalf("Parse(%q): %v, want foreign %v, malformed %v", tt.text, err, tt.foreign, tt.malformed)
			}
			if err == nil && strings.ReplaceAll(id, "-", "") != strings.ReplaceAll(server, "-", "") {
				t.Errorf("Parse(%q) = %q, want %q", tt.text, id, server)
			}
		})
	}
}

func TestFormatProviderID(t *testing.T) {
	t.Parallel()
	ids := ProviderIDs("RegionOne")
	for _, tt := range []struct {
		regional bool
		want     string
	}{{false, "openstack:///" + server}, {true, "openstack://RegionOne/" + server}} {
		got, err := FormatProviderID(ids, tt.regional, "RegionOne", server)
		if err != nil || got != tt.want {
			t.Errorf("regional %v: %q, %v, want %q", tt.regional, got, err, tt.want)
		}
	}
	if got, err := FormatProviderID(ids, true, "", server); err == nil {
		t.Errorf("without a region a regional ID was written: %q", got)
	}
}
