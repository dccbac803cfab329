// Package vpc has the simulated networks: subnets, addresses and firewall rules.
package vpc

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// State has the addresses that are in use, beside the resources in the core's state.
type State struct {
	*core.State

	holders map[addressKey]*holder
	// next are the addresses from which the search for a free one starts.
	next map[string]netip.Addr
}

// NewState returns a state without networks.
func NewState(s *core.State) *State {
	return &State{State: s, holders: map[addressKey]*holder{}, next: map[string]netip.Addr{}}
}

// Network is a VPC network.
type Network struct {
	core.Meta

	AutoCreateSubnetworks bool     `json:"autoCreateSubnetworks"`
	MTU                   int      `json:"mtu"`
	Subnetworks           []string `json:"subnetworks,omitempty"`
	RoutingConfig         Routing  `json:"routingConfig"`
}

// Routing is the mode of dynamic routes.
type Routing struct {
	RoutingMode string `json:"routingMode" enum:"GLOBAL|REGIONAL"`
}

// Subnetwork is a subnet of a network in one region.
type Subnetwork struct {
	core.Meta

	Network             string           `json:"network"`
	IPCIDRRange         string           `json:"ipCidrRange"`
	GatewayAddress      string           `json:"gatewayAddress"`
	Region              string           `json:"region"`
	Purpose             string           `json:"purpose"`
	StackType           string           `json:"stackType" enum:"IPV4_IPV6|IPV4_ONLY|IPV6_ONLY"`
	InternalIPv6Prefix  string           `json:"internalIpv6Prefix,omitempty"`
	IPv6AccessType      string           `json:"ipv6AccessType,omitempty" enum:"EXTERNAL|INTERNAL"`
	SecondaryIPRanges   []SecondaryRange `json:"secondaryIpRanges,omitempty"`
	Fingerprint         string           `json:"fingerprint"`
	PrivateGoogleAccess bool             `json:"privateIpGoogleAccess"`

	prefix netip.Prefix
}

// SecondaryRange is a range for alias ranges of instances.
type SecondaryRange struct {
	RangeName   string `json:"rangeName"`
	IPCIDRRange string `json:"ipCidrRange"`
}

// References implements core.Entity.
func (n *Subnetwork) References() []string { return []string{n.Network} }

// Prefix returns the primary range.
func (n *Subnetwork) Prefix() netip.Prefix { return n.prefix }

var (
	networks = core.Collection[*State, *Network]{Service: "networks", Name: "networks", Kind: "network",
		Scope: core.ScopeGlobal, New: func() *Network { return &Network{} }, ListKindAggregated: "-"}
	subnetworks = core.Collection[*State, *Subnetwork]{Service: "subnetworks", Name: "subnetworks", Kind: "subnetwork",
		Scope: "regions", New: func() *Subnetwork { return &Subnetwork{} }, GetQuery: []string{"views"}}
)

// Methods returns all methods of the package.
func Methods() []core.Method[*State] {
	out := append(networks.Methods(), subnetworks.Methods()...)
	return append(append(out, addressMethods()...), firewallMethods()...)
}

// AddNetwork adds a network to a project.
func (s *State) AddNetwork(project, name string, auto bool) *Network {
	n := &Network{AutoCreateSubnetworks: auto, MTU: 1460, RoutingConfig: Routing{"REGIONAL"}}
	s.Add(n, "compute#network", core.Ref{Project: project, Scope: core.ScopeGlobal, Collection: "networks", Name: name})
	return n
}

// AddSubnetwork adds a subnet to a network.
func (s *State) AddSubnetwork(n *Network, region, name string, prefix netip.Prefix) *Subnetwork {
	project := n.Ref().Project
	subnet := &Subnetwork{Network: n.SelfLink, IPCIDRRange: prefix.String(), prefix: prefix,
		GatewayAddress: prefix.Addr().Next().String(), Purpose: "PRIVATE", StackType: "IPV4_ONLY",
		Region: core.Ref{Project: project, Collection: "regions", Name: region}.URL()}
	if s.Options.IPv6 {
		subnet.StackType, subnet.IPv6AccessType = "IPV4_IPV6", "INTERNAL"
		subnet.InternalIPv6Prefix = "fd20:a::/64"
	}
	subnet.Fingerprint = core.Fingerprint(subnet)
	s.Add(subnet, "compute#subnetwork", core.Ref{Project: project, Scope: "regions/" + region, Collection: "subnetworks",
		Name: name})
	n.Subnetworks = append(n.Subnetworks, subnet.SelfLink)
	return subnet
}

// ClusterSubnet returns the subnet of the cluster's machines.
func (s *State) ClusterSubnet() *Subnetwork {
	subnet, err := core.Get[*Subnetwork](s.State, s.clusterSubnet())
	if err != nil {
		panic(err) // It is a fixture.
	}
	return subnet
}

func (s *State) clusterSubnet() core.Ref {
	return core.Ref{Project: s.Options.NetworkProject, Scope: "regions/" + s.Options.Region, Collection: "subnetworks",
		Name: s.Options.Network}
}

// UseNetwork resolves the reference to a network.
func (s *State) UseNetwork(k *core.Call, field, url string) (*Network, error) {
	r, err := core.ResolveURL(field, url, "networks", k.Target)
	if err != nil {
		return nil, err
	}
	return core.Use[*Network](s.State, r)
}

// UseSubnetwork resolves the reference to a subnet in the region of the call, or its name.
func (s *State) UseSubnetwork(k *core.Call, field, url string) (*Subnetwork, error) {
	r, err := core.Resolve(field, url, "subnetworks", k.Scope(), k.Target)
	if err != nil {
		return nil, err
	}
	if r.Scope != k.Scope() {
		return nil, core.Invalid(field, url, "The subnetwork must be in the region of the resource.")
	}
	if err := k.Permit("subnetworks.use", r); err != nil {
		return nil, err
	}
	return core.Use[*Subnetwork](s.State, r)
}

// SubnetworkFor returns the subnet for an internal address: the given one, or that of the region in an automatic
// network.
func (s *State) SubnetworkFor(k *core.Call, network, subnetwork string) (*Subnetwork, error) {
	const field = "resource.subnetwork"
	if subnetwork != "" {
		return s.UseSubnetwork(k, field, subnetwork)
	}
	if network == "" {
		network = "global/networks/default"
	}
	n, err := s.UseNetwork(k, "resource.network", network)
	if err != nil {
		return nil, err
	}
	if !n.AutoCreateSubnetworks {
		return nil, core.Invalid(field, "", "Subnetwork must be provided for a network in custom subnet mode.")
	}
	for _, url := range n.Subnetworks {
		if r := core.ParseURL(url); r.Scope == k.Scope() {
			return core.Use[*Subnetwork](s.State, r)
		}
	}
	return nil, core.Invalid(field, "", "The network has no subnetwork in the region.")
}
