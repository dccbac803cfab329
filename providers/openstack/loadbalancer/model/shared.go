package model

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// SharedState has the objects that Services share and do not own.
type SharedState struct {
	Features Features
	// NodeSubnets are the subnets of the nodes by family; set if the configuration sets no subnet for members.
	NodeSubnets map[v1.IPFamily]string
	// Subnets are keyed by ID; set if security groups are managed.
	Subnets map[string]api.Subnet
	// NodePorts are the ports of each server; set if security groups are managed.
	NodePorts map[string][]api.Port
	// External is the default network of floating IPs; NoExternal reports that there is none.
	External   string
	NoExternal bool
	// Unowned are the nodes that may receive traffic and have no provider ID of this cloud and region. They stay
	// members if another manager added them, and are not added to other pools.
	Unowned []*v1.Node
}

// PortWithAddress returns the port that has the address, and its subnet.
func PortWithAddress(ports []api.Port, address string) (port api.Port, subnet string) {
	for _, p := range ports {
		for _, f := range p.FixedIPs {
			if SameIP(f.Address, address) {
				return p, f.SubnetID
			}
		}
	}
	return api.Port{}, ""
}

// PortOfMember returns the port of a server at which a member receives traffic, and its subnet: of the ports with the
// member's address, the one in the member's subnet if there is one, because networks may have overlapping addresses.
func PortOfMember(ports []api.Port, address, subnet string) (api.Port, string) {
	for _, p := range ports {
		for _, f := range p.FixedIPs {
			if subnet != "" && f.SubnetID == subnet && SameIP(f.Address, address) {
				return p, subnet
			}
		}
	}
	return PortWithAddress(ports, address)
}

// NodeAddress returns the address at which a node receives traffic: its first internal address of the family,
// else its first external one.
func NodeAddress(n *v1.Node, family v1.IPFamily) string {
	for _, addressType := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range n.Status.Addresses {
			if a.Type == addressType && FamilyOf(a.Address) == family {
				return a.Address
			}
		}
	}
	return ""
}

// FamilyOf returns the family of an address, "" for an invalid one.
func FamilyOf(ip string) v1.IPFamily {
	addr, err := netip.ParseAddr(ip)
	switch {
	case err != nil:
		return ""
	case addr.Unmap().Is6():
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// SameIP compares addresses in any notation.
func SameIP(a, b string) bool {
	x, errA := netip.ParseAddr(a)
	y, errB := netip.ParseAddr(b)
	return errA == nil && errB == nil && x.Unmap() == y.Unmap()
}
