package loadbalancer

import (
	"context"
	"net/netip"
	"strings"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

// automaticRange contains the subnets of a network with automatic subnets, one in each region.
var automaticRange = netip.MustParsePrefix("10.128.0.0/9")

// surroundings are the network and the subnet of internal load balancers.
type surroundings struct {
	subnetwork string
	legacy     bool
}

// newSurroundings returns the surroundings, which are read once: a network never changes its kind.
func newSurroundings(client api.API, cfg config.Global, c clock.PassiveClock) *snapshot.Value[surroundings] {
	return snapshot.NewValue(snapshot.ValueOptions[surroundings]{Clock: c,
		Read: func(ctx context.Context) (surroundings, error) { return readSurroundings(ctx, client, cfg) }})
}

func readSurroundings(ctx context.Context, client api.API, cfg config.Global) (surroundings, error) {
	e, err := client.Environment(ctx)
	if err != nil {
		return surroundings{}, err
	}
	if name := cfg.SubnetworkName; name != "" {
		if strings.Contains(name, "/") {
			return surroundings{subnetwork: name}, nil
		}
		return surroundings{subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: name})}, nil
	}
	var network api.Network
	if err := client.Get(ctx, api.NetworksGet, api.Target{Name: api.Last(e.Network)}, &network); err != nil {
		return surroundings{}, err
	}
	if network.IPv4Range != "" {
		return surroundings{legacy: true}, nil
	}
	if !network.AutoCreateSubnetworks {
		return surroundings{}, nil
	}
	documents, err := client.List(ctx, api.SubnetworksList, api.Target{}, nil)
	if err != nil {
		return surroundings{}, err
	}
	subnets, err := api.ParseAll[api.Subnetwork](documents)
	if err != nil {
		return surroundings{}, err
	}
	for _, s := range subnets {
		prefix, err := netip.ParsePrefix(s.IPCIDRRange)
		if err == nil && api.Last(s.Network) == network.Name && automaticRange.Contains(prefix.Addr()) {
			return surroundings{subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: s.Name})}, nil
		}
	}
	return surroundings{}, nil
}
