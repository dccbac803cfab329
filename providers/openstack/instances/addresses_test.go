package instances

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// portWith is an ACTIVE port with addresses.
func portWith(addresses ...string) api.Port {
	p := api.Port{Status: api.PortActive}
	for _, a := range addresses {
		p.FixedIPs = append(p.FixedIPs, api.FixedIP{Address: a})
	}
	return p
}

func fixed(addresses ...string) []api.ServerAddress {
	var out []api.ServerAddress
	for _, a := range addresses {
		out = append(out, api.ServerAddress{Address: a, Type: "fixed"})
	}
	return out
}

// The order of addresses decides which one a node is reached at, and must stay what it has been.
func TestNodeAddresses(t *testing.T) {
	t.Parallel()
	const in, ex, host = string(v1.NodeInternalIP), string(v1.NodeExternalIP), string(v1.NodeHostName)
	down := portWith("10.0.0.9")
	down.Status = "DOWN"
	two := api.Server{Addresses: networkAddresses{"private": fixed("10.0.0.1"), "dmz": fixed("192.0.2.1", "2001:db8::1")}}
	for _, tt := range []struct {
		name   string
		rules  config.Networking
		server api.Server
		ports  []api.Port
		below  networkAddresses
		want   [][2]string
	}{
		{name: "empty", want: nil},
		{name: "ports come first, in Neutron's order", ports: []api.Port{portWith("10.0.0.2"), portWith("10.0.0.1", "2001:db8::2")},
			server: api.Server{Addresses: networkAddresses{"private": fixed("10.0.0.1", "10.0.0.2", "2001:db8::2")}},
			want:   [][2]string{{in, "10.0.0.2"}, {in, "10.0.0.1"}, {in, "2001:db8::2"}}},
		{name: "a port that is down counts through the server", ports: []api.Port{down}, server: api.Server{Addresses: networkAddresses{"private": fixed("10.0.0.9")}},
			want: [][2]string{{in, "10.0.0.9"}}},
		{name: "access addresses and host name", server: api.Server{AccessIPv4: "198.51.100.1", AccessIPv6: "2001:db8::5", Metadata: map[string]string{"hostname": "web"}},
			want: [][2]string{{ex, "198.51.100.1"}, {ex, "2001:db8::5"}, {host, "web"}}},
		{name: "floating IPs are external", server: api.Server{Addresses: networkAddresses{"private": {{Address: "10.0.0.1", Type: "fixed"}, {Address: "198.51.100.1", Type: "floating"}}}},
			want: [][2]string{{in, "10.0.0.1"}, {ex, "198.51.100.1"}}},
		{name: "networks by name", server: two, want: [][2]string{{in, "192.0.2.1"}, {in, "2001:db8::1"}, {in, "10.0.0.1"}}},
		{name: "a public network is external, and nothing else", rules: config.Networking{PublicNetworkNames: []string{"dmz"}}, server: two, ports: []api.Port{portWith("192.0.2.1"), portWith("10.0.0.1")},
			want: [][2]string{{in, "10.0.0.1"}, {ex, "192.0.2.1"}, {ex, "2001:db8::1"}}},
		{name: "only internal networks count", rules: config.Networking{InternalNetworkNames: []string{"private"}}, server: two, ports: []api.Port{portWith("192.0.2.1"), portWith("10.0.0.1")},
			want: [][2]string{{in, "10.0.0.1"}}},
		{name: "without IPv6", rules: config.Networking{IPv6SupportDisabled: true}, server: two, ports: []api.Port{portWith("2001:db8::1")},
			want: [][2]string{{in, "192.0.2.1"}, {in, "10.0.0.1"}}},
		{name: "ports below a trunk", server: api.Server{Addresses: networkAddresses{"private": fixed("10.0.0.1")}}, below: networkAddresses{"vlan": fixed("10.9.0.1")},
			want: [][2]string{{in, "10.0.0.1"}, {in, "10.9.0.1"}}},
		{name: "sorted by ranges, then by bytes; the others last", rules: config.Networking{AddressSortOrder: "10.0.0.0/8, 192.0.2.0/24"},
			server: api.Server{AccessIPv4: "203.0.113.1", Metadata: map[string]string{"hostname": "web"}}, ports: []api.Port{portWith("192.0.2.7", "10.0.0.20", "10.0.0.3", "172.16.0.1")},
			want: [][2]string{{in, "10.0.0.3"}, {in, "10.0.0.20"}, {in, "192.0.2.7"}, {in, "172.16.0.1"}, {ex, "203.0.113.1"}, {host, "web"}}},
		{name: "an address of two types is listed twice", server: api.Server{AccessIPv4: "10.0.0.1"}, ports: []api.Port{portWith("10.0.0.1")},
			want: [][2]string{{in, "10.0.0.1"}, {ex, "10.0.0.1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got [][2]string
			list, err := newAddressRules(tt.rules).nodeAddresses(tt.server, tt.ports, tt.below)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list {
				got = append(got, [2]string{string(a.Type), a.Address})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestLabelValue(t *testing.T) {
	t.Parallel()
	long := "a23456789012345678901234567890123456789012345678901234567890ab-d"
	for from, want := range map[string]string{
		"nova": "nova", "my zone / 1": "my-zone-1", " (x) ": "x", "": "", "ä": "", "_.-a-._": "a", long: long[:62], "a b\tc": "a-b-c",
	} {
		if got := labelValue(from); got != want || got != "" && !isLabelValue(got) {
			t.Errorf("labelValue(%q) = %q, want %q", from, got, want)
		}
	}
}
