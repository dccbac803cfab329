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

// subnets are the network and the subnet of internal load balancers.
type subnets struct {
	subnetwork string
	legacy     bool
}

// newSubnets returns the subnets, which are read once: a network never changes its kind.
func newSubnets(client api.API, cfg config.Global, c clock.PassiveClock) *snapshot.Value[subnets] {
	return snapshot.NewValue(snapshot.ValueOptions[subnets]{Clock: c,
		Read: func(ctx context.Context) (subnets, error) { return readSubnets(ctx, client, cfg) }})
}

func readSubnets(ctx context.Context, client api.API, cfg config.Global) (subnets, error) {
	e, err := client.Environment(ctx)
	if err != nil {
		return subnets{}, err
	}
	if name := cfg.SubnetworkName; name != "" {
		if strings.Contains(name, "/") {
			return subnets{subnetwork: name}, nil
		}
		return subnets{subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: name})}, nil
	}
	var network api.Network
	if err := client.Get(ctx, api.NetworksGet, api.Target{Name: api.Last(e.Network)}, &network); err != nil {
		return subnets{}, err
	}
	if network.IPv4Range != "" {
		return subnets{legacy: true}, nil
	}
	if !network.AutoCreateSubnetworks {
		return subnets{}, nil
	}
	documents, err := client.List(ctx, api.SubnetworksList, api.Target{}, nil)
	if err != nil {
		return subnets{}, err
	}
	found, err := api.ParseAll[api.Subnetwork](documents)
	if err != nil {
		return subnets{}, err
	}
	for _, s := range found {
		prefix, err := netip.ParsePrefix(s.IPCIDRRange)
		if err == nil && api.Last(s.Network) == network.Name && automaticRange.Contains(prefix.Addr()) {
			return subnets{subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: s.Name})}, nil
		}
	}
	return subnets{}, nil
}
