// Package vpc has the simulated networks: subnets, addresses and firewall rules.
package vpc

import (
	"cmp"
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

// holder is what has an address: a reservation, or users, or both.
type holder struct {
	reserved *Address
	users    []string
	tier     string
}

// Address is a static address.
type Address struct {
	core.Meta

	core.Labels

	Address      string   `json:"address" format:"ip4"`
	AddressType  string   `json:"addressType" enum:"EXTERNAL|INTERNAL|UNSPECIFIED_TYPE" default:"EXTERNAL" simulated:"EXTERNAL|INTERNAL"`
	Purpose      string   `json:"purpose,omitempty" enum:"DNS_RESOLVER|GCE_ENDPOINT|IPSEC_INTERCONNECT|NAT_AUTO|PRIVATE_SERVICE_CONNECT|SERVERLESS|SHARED_LOADBALANCER_VIP|VPC_PEERING" simulated:"GCE_ENDPOINT|SHARED_LOADBALANCER_VIP"`
	NetworkTier  string   `json:"networkTier" enum:"FIXED_STANDARD|PREMIUM|STANDARD|STANDARD_OVERRIDES_FIXED_STANDARD" default:"PREMIUM" simulated:"PREMIUM|STANDARD"`
	Subnetwork   string   `json:"subnetwork,omitempty" link:"subnetworks.use" named:"true"`
	Network      string   `json:"network,omitempty" set:"never"`
	Region       string   `json:"region" set:"output"`
	Status       string   `json:"status" enum:"IN_USE|RESERVED|RESERVING" set:"output"`
	Users        []string `json:"users,omitempty" set:"output"`
	IPVersion    string   `json:"ipVersion,omitempty" enum:"IPV4|IPV6|UNSPECIFIED_VERSION" simulated:"IPV4|UNSPECIFIED_VERSION"`
	PrefixLength int      `json:"prefixLength,omitempty"`

	key addressKey
}

// addressKey identifies an address: internal ones are unique in their network only.
type addressKey struct {
	network string
	ip      netip.Addr
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

	Network             string           `json:"network" link:"networks"`
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

// Prefix returns the primary range.
func (n *Subnetwork) Prefix() netip.Prefix { return n.prefix }

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
	subnet, err := s.SubnetIn(s.Options.Region)
	if err != nil {
		panic(err) // It is a fixture.
	}
	return subnet
}

// SubnetIn returns the subnet of the cluster's network in a region.
func (s *State) SubnetIn(region string) (*Subnetwork, error) {
	return core.Get[*Subnetwork](s.State, core.Ref{Project: s.Options.NetworkProject, Scope: "regions/" + region,
		Collection: "subnetworks", Name: s.Options.Network})
}

// SubnetworkFor returns the subnet for an internal address: the given one, or that of the region in an automatic
// network. Both URLs are canonical, or empty.
func (s *State) SubnetworkFor(k *core.Call, network, subnetwork string) (*Subnetwork, error) {
	const field = "resource.subnetwork"
	if subnet, ok := core.At[*Subnetwork](s.State, subnetwork); ok {
		return subnet, nil
	}
	n, err := core.Get[*Network](s.State, core.ParseURL(cmp.Or(network, core.Ref{Project: k.Project(),
		Scope: core.ScopeGlobal, Collection: "networks", Name: "default"}.URL())))
	if err != nil {
		return nil, err
	}
	if !n.AutoCreateSubnetworks {
		return nil, core.Invalid(field, "", "Subnetwork must be provided for a network in custom subnet mode.")
	}
	for _, subnet := range core.AllAt[*Subnetwork](s.State, n.Subnetworks) {
		if subnet.Ref().Scope == k.Scope() {
			return subnet, nil
		}
	}
	return nil, core.Invalid(field, "", "The network has no subnetwork in the region.")
}
