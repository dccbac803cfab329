package compare

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func TestValuesOfReadsSettingsFromTheCloud(t *testing.T) {
	object := func(kind string, fields ...string) world.Object {
		o := world.Object{Kind: kind, Fields: map[string]string{}}
		for i := 0; i+1 < len(fields); i += 2 {
			o.Fields[fields[i]] = fields[i+1]
		}
		return o
	}
	for name, c := range map[string]struct {
		cloud   string
		what    setting
		objects []world.Object
		want    string
	}{
		"affinity on":  {"fake", clientIPAffinity, []world.Object{object("pool", "affinitySeconds", "10800")}, "on"},
		"affinity off": {"fake", clientIPAffinity, []world.Object{object("pool", "affinitySeconds", "0")}, ""},
		"pools that differ": {"fake", healthCheckInterval, []world.Object{
			object("pool", "healthCheck.intervalSeconds", "15"), object("pool", "healthCheck.intervalSeconds", "10"),
		}, "10, 15"},
		"another kind": {"fake", healthCheckInterval, []world.Object{object("listener", "healthCheck.intervalSeconds", "15")}, ""},
		"PROXY protocol off": {"aws", proxyProtocol, []world.Object{
			object("target group", "Attributes.proxy_protocol_v2.enabled", "false"),
		}, ""},
		"classic health check": {"aws", healthCheckPath, []world.Object{
			object(classicBalancer, "HealthCheck.Target", "HTTP:10256/ready"),
		}, "/ready"},
		"classic TCP check": {"aws", healthCheckPath, []world.Object{
			object(classicBalancer, "HealthCheck.Target", "TCP:30080"),
		}, ""},
		"subnets": {"aws", loadBalancerSubnet, []world.Object{
			object("load balancer", "AvailabilityZones.0.SubnetId", "a", "AvailabilityZones.1.SubnetId", "b"),
		}, "a, b"},
		"milliseconds": {"openstack", idleTimeout, []world.Object{
			object("listener", "timeout_client_data", "90000", "timeout_member_data", "50000"),
		}, "50, 90"},
		"tag in a list": {"openstack", tagTeam, []world.Object{object("load balancer", "tags", "a, team=web, b")}, "web"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(valuesOf(c.cloud, c.what, c.objects), ", "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
