package translation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func TestTranslateGivesTheAnnotationsOfTheCloudsManager(t *testing.T) {
	const prefix, octavia = "service.beta.kubernetes.io/aws-load-balancer-", "loadbalancer.openstack.org/"
	for name, c := range map[string]struct {
		provider, kind string
		portable, want map[string]string
		missing        string
	}{
		"duration in seconds": {"aws", "classic", map[string]string{intent.KeyIdleTimeout: "1m30s"},
			map[string]string{prefix + "connection-idle-timeout": "90"}, ""},
		"duration in milliseconds": {"openstack", "", map[string]string{intent.KeyIdleTimeout: "90s"},
			map[string]string{octavia + "timeout-client-data": "90000", octavia + "timeout-member-data": "90000"}, ""},
		"several keys": {"aws", "classic", map[string]string{intent.KeyConnectionDrainingTimeout: "45s"},
			map[string]string{prefix + "connection-draining-enabled": "true", prefix + "connection-draining-timeout": "45"}, ""},
		"another kind": {"aws", "network", map[string]string{intent.KeyProxyProtocol: "v2"},
			map[string]string{prefix + "target-group-attributes": "proxy_protocol_v2.enabled=true"}, ""},
		"own annotations stay": {"vsphere", "", map[string]string{intent.KeyScheme: "internal", "example.com/team": "web"},
			map[string]string{"loadbalancer.vmware.io/class": "internal", "example.com/team": "web"}, ""},
		"internal in a subnet": {"gce", "", map[string]string{intent.KeyScheme: "internal", intent.KeySubnets: "balancers"},
			map[string]string{"networking.gke.io/load-balancer-type": "Internal",
				"networking.gke.io/internal-load-balancer-subnet": "balancers"}, ""},
		"no setting":              {"openstack", "", map[string]string{intent.KeyTags: "team=web"}, nil, intent.KeyTags},
		"no setting of this kind": {"aws", "network", map[string]string{intent.KeyIdleTimeout: "90s"}, nil, intent.KeyIdleTimeout},
		"no manager of its own": {"fake", "", map[string]string{intent.KeyTags: "team=web"},
			map[string]string{intent.KeyTags: "team=web"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: c.portable}}
			err := Translate(svc, c.provider, c.kind)
			if missing := (*MissingSettingError)(nil); c.missing != "" {
				if !errors.As(err, &missing) || missing.Key != c.missing {
					t.Fatalf("%v, want that %s is missing", err, c.missing)
				}
				return
			}
			if diff := cmp.Diff(c.want, svc.Annotations); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestTranslateSetsTheAddressInTheSpec(t *testing.T) {
	for _, provider := range []string{"gce", "openstack"} {
		svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			intent.KeyStaticAddresses: "198.51.100.7"}}}
		if err := Translate(svc, provider, ""); err != nil || svc.Spec.LoadBalancerIP != "198.51.100.7" ||
			len(svc.Annotations) > 0 {
			t.Errorf("%s: %v: %q, %v", provider, err, svc.Spec.LoadBalancerIP, svc.Annotations)
		}
	}
}
