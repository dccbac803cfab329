// Package subnet finds the network and the subnet of internal load balancers.
package subnet

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// automaticRange contains the subnets of a network with automatic subnets, one in each region.
var automaticRange = netip.MustParsePrefix("10.128.0.0/9")

// Subnet is where internal load balancers are.
type Subnet struct {
	// Subnetwork is the URL of the subnet; "" if the network selects it.
	Subnetwork string
	// Legacy is set for a network without subnets.
	Legacy bool
}

// New returns the subnet, which is read once: a network never changes its kind.
func New(client api.API, cfg config.Global, c clock.PassiveClock) *snapshot.Value[Subnet] {
	return snapshot.NewValue(snapshot.ValueOptions[Subnet]{Clock: c,
		Read: func(ctx context.Context) (Subnet, error) { return read(ctx, client, cfg) }})
}

func read(ctx context.Context, client api.API, cfg config.Global) (Subnet, error) {
	e, err := client.Environment(ctx)
	if err != nil {
		return Subnet{}, err
	}
	if name := cfg.SubnetworkName; name != "" {
		if strings.Contains(name, "/") {
			return Subnet{Subnetwork: name}, nil
		}
		return Subnet{Subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: name})}, nil
	}
	var network api.Network
	if err := client.Get(ctx, api.NetworksGet, api.Target{Name: api.Last(e.Network)}, &network); err != nil {
		return Subnet{}, err
	}
	if network.IPv4Range != "" {
		return Subnet{Legacy: true}, nil
	}
	if !network.AutoCreateSubnetworks {
		return Subnet{}, nil
	}
	documents, err := client.List(ctx, api.SubnetworksList, api.Target{}, nil)
	if err != nil {
		return Subnet{}, err
	}
	found, err := api.ParseAll[api.Subnetwork](documents)
	if err != nil {
		return Subnet{}, err
	}
	for _, s := range found {
		prefix, err := netip.ParsePrefix(s.IPCIDRRange)
		if err == nil && api.Last(s.Network) == network.Name && automaticRange.Contains(prefix.Addr()) {
			return Subnet{Subnetwork: client.Link(e, api.SubnetworksList, api.Target{Name: s.Name})}, nil
		}
	}
	return Subnet{}, nil
}

// VerifySuccessor returns an error of class Invalid if a forwarding rule cannot be replaced by one with another
// internal address or subnet, because the subnet is impossible.
func VerifySuccessor(ctx context.Context, client api.API, e api.Environment, have, want api.ForwardingRule) error {
	link := want.Subnetwork
	if have.Scheme == api.SchemeInternal {
		link = cmp.Or(link, have.Subnetwork)
	}
	name := api.Last(link)
	moves := want.IPAddress != "" && want.IPAddress != have.IPAddress || api.Path(link) != api.Path(have.Subnetwork)
	isKnown := api.Path(link) == api.Path(client.Link(e, api.SubnetworksList, api.Target{Name: name}))
	if want.Scheme != api.SchemeInternal || !moves || !isKnown {
		return nil
	}
	return verify(ctx, client, e.Network, name, want.IPAddress)
}

// verify reads the subnets of the region. It returns an error of class Invalid if none has the name, or if load
// balancers of a network cannot be in the one that has it, or not with an address, which may be "". A client that may
// not read them has no error.
func verify(ctx context.Context, client api.API, network, name, address string) error {
	documents, err := client.List(ctx, api.SubnetworksList, api.Target{}, nil)
	if err != nil {
		if cloudapi.Is(err, cloudapi.Denied) {
			return nil
		}
		return err
	}
	found, err := api.ParseAll[api.Subnetwork](documents)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(s api.Subnetwork) bool { return s.Name == name })
	if i < 0 {
		return invalid("the region has no subnet %s: name another one in %s", name, annotation.KeySubnet)
	}
	s := found[i]
	if s.Network != "" && !api.SameLink(s.Network, network) {
		return invalid("the subnet %s is in the network %s, and the nodes are in %s: name another one in %s", name,
			api.Last(s.Network), api.Last(network), annotation.KeySubnet)
	}
	// Others are for proxies or for services of other networks.
	if !slices.Contains([]string{"", "PRIVATE", "PRIVATE_RFC_1918"}, s.Purpose) {
		return invalid("the subnet %s has the purpose %s: name one for load balancers in %s", name, s.Purpose,
			annotation.KeySubnet)
	}
	prefix, err := netip.ParsePrefix(s.IPCIDRRange)
	ip, unset := netip.ParseAddr(address)
	if err == nil && unset == nil && !prefix.Contains(ip) {
		return invalid("the subnet %s has the addresses %s, and not %s: choose one of them in %s", name, prefix, ip,
			intent.FieldLoadBalancerIP)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: api.ForwardingRulesInsert.String(),
		Err: fmt.Errorf(format, args...)}
}
