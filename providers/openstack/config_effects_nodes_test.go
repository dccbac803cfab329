package openstack

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// addressesWith are the addresses of a node with IPv4 and IPv6 on the network "private", in order.
func addressesWith(t *testing.T, lines string) []v1.NodeAddress {
	t.Helper()
	w := simtest.New(t, sim.Options{IPv6: true})
	cloud := cloudOn(t, w, "[Networking]\n"+lines)
	node, err := w.Cloud.Launch(world.Machine{Name: "node-0"})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := cloud.instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return meta.NodeAddresses
}

// nodeEffects are the keys of [Networking] and [Route].
func nodeEffects() map[string]func(*testing.T) {
	const four, six = "10.0.0.0/16", "2001:db8:a::/64"
	types := func(lines string, want ...v1.NodeAddressType) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			var got []v1.NodeAddressType
			for _, a := range addressesWith(t, lines) {
				got = append(got, a.Type)
			}
			if !slices.Equal(got, want) {
				t.Errorf("addresses are of the types %v, want %v", got, want)
			}
		}
	}
	return map[string]func(*testing.T){
		"[Networking] ipv6-support-disabled": types("ipv6-support-disabled = true\n", v1.NodeInternalIP),
		"[Networking] public-network-name": types("public-network-name = other\npublic-network-name = "+
			"private\n", v1.NodeExternalIP, v1.NodeExternalIP),
		"[Networking] internal-network-name": func(t *testing.T) {
			t.Helper()
			types("internal-network-name = other\n")(t)
			types("internal-network-name = other\ninternal-network-name = private\n", v1.NodeInternalIP, v1.NodeInternalIP)(t)
		},
		"[Networking] address-sort-order": func(t *testing.T) {
			t.Helper()
			for order, length := range map[string]int{four + ", " + six: len("10.0.0.2"), six + "," + four: len("2001:db8:a::2")} {
				if got := addressesWith(t, "address-sort-order = \""+order+"\"\n"); len(got) != 2 || len(got[0].Address) != length {
					t.Errorf("in the order %s addresses are %v", order, got)
				}
			}
		},
		"[Route] router-id": func(t *testing.T) {
			t.Helper()
			w := simtest.New(t, sim.Options{})
			for lines, want := range map[string]bool{"": false, "[Route]\nrouter-id = " + w.Places().Router + "\n": true} {
				cloud := cloudOn(t, w, lines)
				if _, ok := cloud.Routes(); ok != want || cloud.config.Route.RouterID != "" != want {
					t.Errorf("%q: routes %v, want %v", lines, ok, want)
				}
			}
		},
	}
}
