package loadbalancer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

const testUID = "6a9b1c2d-3e4f-4a5b-8c7d-9e0f1a2b3c4d"

func testKey() lbcommon.Key {
	return lbcommon.Key{ClusterName: "prod", ClusterUID: "c-1", Namespace: "default", Name: "web", UID: testUID}
}

// The expectations of this test are in users' clouds. A change that makes it fail orphans their load balancers.
func TestLoadBalancerName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 60)
	tests := map[string]struct {
		key  lbcommon.Key
		want string
	}{
		"short":                           {testKey(), "k8s-default-web-1a2b3c4d"},
		"long names are cut, not the UID": {lbcommon.Key{Namespace: long, Name: "web", UID: testUID}, "k8s-" + strings.Repeat("n", 50) + "-1a2b3c4d"},
		"no hyphen before the UID's own":  {lbcommon.Key{Namespace: strings.Repeat("n", 49), Name: "web", UID: testUID}, "k8s-" + strings.Repeat("n", 49) + "-1a2b3c4d"},
		"not created yet":                 {lbcommon.Key{Namespace: "default", Name: "web"}, "k8s-default-web-00000000"},
		"a UID that is not a UUID":        {lbcommon.Key{Namespace: "default", Name: "web", UID: "u-1"}, "k8s-default-web-u1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := loadBalancerName(test.key)
			if got != test.want {
				t.Errorf("loadBalancerName = %q, want %q", got, test.want)
			}
			if len(got) > maxNameLength {
				t.Errorf("%q has %d characters, more than %d", got, len(got), maxNameLength)
			}
		})
	}
}

func TestAddressNamesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, lb := range []string{"k8s-default-web-1a2b3c4d", "k8s-default-ipv4-1a2b3c4d", "k8s-a-ipv6-10-1a2b3c4d"} {
		for _, ip := range []string{"", "198.51.100.7", "2001:db8::7"} {
			for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
				name := addressName(lb, family, ip)
				if owner, ok := addressOwner(name); !ok || owner != lb {
					t.Errorf("addressOwner(%q) = %q, %t, want %q", name, owner, ok, lb)
				}
			}
		}
	}
	for _, foreignName := range []string{"reserved-by-hand", "k8s-default-web-1a2b3c4d", "x-ipv4-spare"} {
		if owner, ok := addressOwner(foreignName); ok {
			t.Errorf("addressOwner(%q) = %q, want none", foreignName, owner)
		}
	}
}

func TestMergeTags(t *testing.T) {
	t.Parallel()
	ours := func(extra map[string]string) map[string]string { return ownTags(testKey(), extra) }
	with := func(tags map[string]string, key, value string) map[string]string { tags[key] = value; return tags }
	tests := map[string]struct{ have, want, merged map[string]string }{
		"nothing there":                {nil, ours(nil), ours(nil)},
		"an extra tag joins":           {ours(nil), ours(map[string]string{"team": "web"}), ours(map[string]string{"team": "web"})},
		"an extra tag leaves":          {ours(map[string]string{"team": "web"}), ours(nil), ours(nil)},
		"an extra tag changes":         {ours(map[string]string{"team": "a"}), ours(map[string]string{"team": "b"}), ours(map[string]string{"team": "b"})},
		"another tool's tag stays":     {with(ours(nil), "cost", "7"), ours(nil), with(ours(nil), "cost", "7")},
		"an edited list frees no mark": {with(ours(nil), TagExtraKeys, TagClusterUID), map[string]string{TagCluster: "prod"}, with(map[string]string{TagCluster: "prod", TagService: "default/web"}, TagClusterUID, "c-1")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.merged, mergeTags(test.have, test.want)); diff != "" {
				t.Errorf("mergeTags (-want +got):\n%s", diff)
			}
		})
	}
}
