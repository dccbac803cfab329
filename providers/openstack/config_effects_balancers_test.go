package openstack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

func lines(text string) func(*madeBalancer) string {
	return func(*madeBalancer) string { return text }
}

// balancerEffects are the keys of [LoadBalancer], but for places and monitors.
func balancerEffects() map[string]func(*testing.T) {
	effects := map[string]balancerEffect{
		"enabled": {config: lines("enabled = false"), check: func(m *madeBalancer) bool {
			_, ok := m.cloud.LoadBalancer()
			return !ok
		}},
		"internal-lb": {config: lines("internal-lb = true"), check: func(m *madeBalancer) bool { return len(m.floatingIPs()) == 0 }},
		"lb-provider": {config: lines("lb-provider = ovn"), check: func(m *madeBalancer) bool { return m.balancer().Provider == "ovn" }},
		"lb-method":   {config: lines("lb-method = LEAST_CONNECTIONS"), check: func(m *madeBalancer) bool { return m.pool().LBMethod == "LEAST_CONNECTIONS" }},
		"flavor-id": {config: func(m *madeBalancer) string { return "flavor-id = " + m.places.LoadBalancerFlavors["large"] }, check: func(m *madeBalancer) bool {
			return m.balancer().FlavorID == m.places.LoadBalancerFlavors["large"]
		}},
		"availability-zone": {config: lines("availability-zone = az-2"), check: func(m *madeBalancer) bool { return m.balancer().AvailabilityZone == "az-2" }},
		"manage-security-groups": {config: lines("manage-security-groups = true"), check: func(m *madeBalancer) bool {
			groups, err := m.api.ListSecurityGroups(m.t.Context(), "")
			return err == nil && slices.ContainsFunc(groups, func(g api.SecurityGroup) bool { return strings.HasPrefix(g.Name, "lb-sg-") })
		}},
		"node-selector": {config: lines("node-selector = edge=yes"), check: func(m *madeBalancer) bool { return len(m.members()) == 0 }},
		"cascade-delete": {config: lines("cascade-delete = false"), check: func(m *madeBalancer) bool {
			if err := m.cloud.loadBalancer.EnsureLoadBalancerDeleted(m.t.Context(), "kubernetes", m.service); err != nil {
				m.t.Error(err)
			}
			return m.calls("DeleteListener") > 0 && m.calls("DeleteLoadBalancer") > 0
		}},
		"enable-ingress-hostname": {config: lines("enable-ingress-hostname = true"), annotations: map[string]string{"proxy-protocol": "true"}, check: func(m *madeBalancer) bool {
			return m.status.Ingress[0].Hostname == m.floatingIPs()[0].FloatingIP+".nip.io"
		}},
		"ingress-hostname-suffix": {config: lines("enable-ingress-hostname = true\ningress-hostname-suffix = " +
			"example.org"), annotations: map[string]string{"proxy-protocol": "true"},
			check: func(m *madeBalancer) bool {
				return strings.HasSuffix(m.status.Ingress[0].Hostname, ".example.org")
			}},
		"default-tls-container-ref": {config: secretRef, check: func(m *madeBalancer) bool {
			return m.listener().Protocol == api.ProtocolTerminatedHTTPS && m.listener().DefaultTlsContainerRef == m.ids["secret"]
		}},
		"max-shared-lb": {config: lines("max-shared-lb = 1"), check: func(m *madeBalancer) bool {
			second := m.service.DeepCopy()
			second.Name, second.UID, second.Spec.Ports[0].Port = "second", types.UID("22222222-2222-3333-4444-555555555555"), 81
			second.Annotations["loadbalancer.openstack.org/load-balancer-id"] = m.balancer().ID
			_, err := m.ensure(second)
			return err != nil
		}},
		"provider-requires-serial-api-calls": {config: lines("provider-requires-serial-api-calls = " +
			"true"), check: func(m *madeBalancer) bool {
			return m.calls("CreateListener") == 1 && m.calls("CreatePool") == 1
		}},
	}
	out := map[string]func(*testing.T){
		// There has only ever been one, and it is the default.
		"[LoadBalancer] lb-version": refuses("[LoadBalancer]\nlb-version = v1\n", "[LoadBalancer]\nlb-version = v2\n", "lb-version: must be v2"),
		// With external the certificate is not looked up.
		"[LoadBalancer] container-store": balancerEffect{config: lines("container-store = external"), check: func(m *madeBalancer) bool {
			m.service.Annotations["loadbalancer.openstack.org/default-tls-container-ref"] = secretOf(m)
			m.world.Front().Log().Reset()
			if _, err := m.ensure(m.service); err != nil {
				m.t.Error(err)
			}
			return m.calls("ShowContainer") == 0
		}}.run,
	}
	for key, effect := range effects {
		out["[LoadBalancer] "+key] = effect.run
	}
	return out
}

func secretOf(m *madeBalancer) string {
	return m.world.AddSecret("http://openstack.invalid", "certificate", true)
}

func secretRef(m *madeBalancer) string {
	m.ids["secret"] = secretOf(m)
	return "default-tls-container-ref = " + m.ids["secret"]
}

// refuses is a key that only decides whether a configuration is accepted.
func refuses(bad, good, problem string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if _, _, err := config.Read("cloud.conf", []byte(minimal+bad)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("error %v, want one with %q", err, problem)
		}
		readConfig(t, minimal+good)
	}
}

// placeEffects are the keys of networks and subnets of load balancers and floating IPs, in [LoadBalancer] and
// in classes.
func placeEffects() map[string]func(*testing.T) {
	const second = "198.51.100.0/24"
	// With a second subnet of floating IPs, one comes from it if it is chosen.
	outside := func(key, value string) func(*madeBalancer) string {
		return func(m *madeBalancer) string {
			m.ids["subnet"] = m.made(m.world.AddSubnet(m.places.PublicNetwork, "second-subnet", netip.MustParsePrefix(second), "fast"))
			return key + " = " + strings.ReplaceAll(value, "ID", m.ids["subnet"])
		}
	}
	fromSecond := func(m *madeBalancer) bool {
		return len(m.floatingIPs()) == 1 && netip.MustParsePrefix(second).Contains(netip.MustParseAddr(m.floatingIPs()[0].FloatingIP))
	}
	inside := func(m *madeBalancer) string {
		m.ids["subnet"] = m.made(m.world.AddSubnet(m.places.PrivateNetwork, "second-inside", netip.MustParsePrefix("10.77.0.0/24")))
		return m.ids["subnet"]
	}
	keys := map[string]balancerEffect{
		"subnet-id": {config: func(m *madeBalancer) string { return "subnet-id = " + inside(m) }, check: func(m *madeBalancer) bool {
			return m.balancer().VipSubnetID == m.ids["subnet"]
		}},
		"network-id": {noSubnet: true, config: func(m *madeBalancer) string {
			var err error
			m.ids["network"], _, err = m.world.AddNetwork("second", netip.MustParsePrefix("10.88.0.0/24"), false)
			m.made("", err)
			return "network-id = " + m.ids["network"]
		}, check: func(m *madeBalancer) bool {
			// Another network has no way to floating IPs; where the load balancer is shows all the same.
			list, err := m.api.ListLoadBalancers(m.t.Context())
			return err == nil && len(list) == 1 && list[0].VipNetworkID == m.ids["network"]
		}},
		"member-subnet-id": {config: func(m *madeBalancer) string { return "member-subnet-id = " + inside(m) }, check: func(m *madeBalancer) bool {
			return m.members()[0].SubnetID == m.ids["subnet"]
		}},
		"floating-network-id": {config: func(m *madeBalancer) string {
			var err error
			m.ids["network"], _, err = m.world.AddNetwork("elsewhere", netip.MustParsePrefix(second), true)
			m.made("", err)
			return "floating-network-id = " + m.ids["network"]
		}, check: func(m *madeBalancer) bool {
			// The router is not connected to that network, which Neutron's error names.
			return m.err != nil && strings.Contains(m.err.Error(), m.ids["network"])
		}},
		"floating-subnet-id":   {config: outside("floating-subnet-id", "ID"), check: fromSecond},
		"floating-subnet":      {config: outside("floating-subnet", "second-*"), check: fromSecond},
		"floating-subnet-tags": {config: outside("floating-subnet-tags", "fast"), check: fromSecond},
	}
	out := map[string]func(*testing.T){}
	for key, effect := range keys {
		out["[LoadBalancer] "+key] = effect.run
		class := effect
		class.annotations = map[string]string{"class": "gold"}
		class.config = func(m *madeBalancer) string { return "[LoadBalancerClass \"gold\"]\n" + effect.config(m) }
		out[fmt.Sprintf("[LoadBalancerClass \"NAME\"] %s", key)] = func(t *testing.T) {
			t.Helper()
			// Without the section the class is unknown, so compare with an empty one.
			class.inBubble(t, true, true)
			class.config = lines("[LoadBalancerClass \"gold\"]")
			class.inBubble(t, true, false)
		}
	}
	return out
}

// made returns an ID, and fails the test on an error.
func (m *madeBalancer) made(id string, err error) string {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

// monitorEffects are the keys about health monitors.
func monitorEffects() map[string]func(*testing.T) {
	out := map[string]func(*testing.T){
		"[LoadBalancer] create-monitor": balancerEffect{config: lines("create-monitor = true"), check: func(m *madeBalancer) bool {
			list, err := m.api.ListHealthMonitors(m.t.Context())
			return err == nil && len(list) == 1
		}}.run,
	}
	for key, effect := range map[string]struct {
		value string
		check func(api.HealthMonitor) bool
	}{
		"monitor-delay":            {"17", func(m api.HealthMonitor) bool { return m.Delay == 17 }},
		"monitor-timeout":          {"4s", func(m api.HealthMonitor) bool { return m.Timeout == 4 }},
		"monitor-max-retries":      {"6", func(m api.HealthMonitor) bool { return m.MaxRetries == 6 }},
		"monitor-max-retries-down": {"7", func(m api.HealthMonitor) bool { return m.MaxRetriesDown == 7 }},
	} {
		out["[LoadBalancer] "+key] = balancerEffect{
			annotations: map[string]string{"enable-health-monitor": "true"}, config: lines(key + " = " + effect.value),
			check: func(m *madeBalancer) bool { return effect.check(m.monitor()) },
		}.run
	}
	return out
}
