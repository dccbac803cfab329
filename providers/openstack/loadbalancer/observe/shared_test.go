package observe

import (
	"context"
	"fmt"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// networks is a Neutron with external networks, and the IP versions of their visible subnets.
type networks struct {
	api.NetworkAPI
	names    []string
	versions map[string][]int
	hidden   map[string]bool
}

func (n networks) ListExternalNetworks(context.Context) ([]api.NeutronNetwork, error) {
	var list []api.NeutronNetwork
	for _, name := range n.names {
		network := api.NeutronNetwork{}
		network.ID = name
		for _, version := range n.versions[name] {
			network.Subnets = append(network.Subnets, fmt.Sprintf("subnet %d of %s", version, name))
		}
		list = append(list, network)
	}
	return list, nil
}

func (n networks) ListSubnets(_ context.Context, network string) ([]api.Subnet, error) {
	var list []api.Subnet
	for _, version := range n.versions[network] {
		if !n.hidden[network] {
			list = append(list, api.Subnet{ID: fmt.Sprintf("subnet %d of %s", version, network), NetworkID: network, IPVersion: version})
		}
	}
	return list, nil
}

// Another manager takes the first network of the list with an IPv4 subnet, or with one that is hidden from the project,
// and skips those without subnets (GetFloatingNetworkID in pkg/util/openstack/network.go of cloud-provider-openstack).
func TestFindExternalReturnsFirstUsableNetwork(t *testing.T) {
	n := networks{
		versions: map[string][]int{"empty": nil, "six": {6}, "four": {4}, "both": {6, 4}, "hidden": {4}},
		hidden:   map[string]bool{"hidden": true},
	}
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"empty", "four"}, "four"},
		{[]string{"hidden", "six", "both"}, "hidden"},
		{[]string{"six", "hidden", "empty"}, "hidden"},
		{[]string{"six", "both", "hidden"}, "both"},
		{[]string{"six", "empty"}, ""},
		{[]string{"six"}, ""},
		{nil, ""},
	} {
		n.names = tt.names
		if got, err := FindExternal(t.Context(), n); err != nil || got != tt.want {
			t.Errorf("of %q the network %q was chosen, want %q, error %v", tt.names, got, tt.want, err)
		}
	}
}
