package model

import (
	"cmp"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// placeInFamily replaces a subnet of another family by one of its network: with an address of another family, Octavia
// rejects the allowed CIDRs of a Service, and its provider ovn the members. An earlier Octavia accepts them, and gets
// the subnet that is named. Subnets that the client cannot see stay too.
func (b *builder) placeInFamily(lb *LoadBalancer) {
	f, family := b.shared.Features, b.in.Families[0]
	if lb.inNodeSubnet || !f.AllowedCIDRs() && !f.OVN {
		return
	}
	network, current := b.networkOf(*lb)
	lb.unplaced = current == ""
	if current == "" || current == family {
		return
	}
	found := SubnetsOfFamily(b.subnets, network, family)
	if len(found) == 0 {
		lb.unplaced = true
		b.addFamilyProblem(*lb, network, current)
		return
	}
	lb.NamedSubnetID, lb.SubnetID = lb.SubnetID, found[0].ID
	for _, s := range found {
		lb.FamilySubnets = append(lb.FamilySubnets, s.ID)
	}
	address, err := netip.ParseAddr(lb.Address)
	for _, s := range found {
		if prefix, invalid := netip.ParsePrefix(s.CIDR); err == nil && invalid == nil && prefix.Contains(address) {
			lb.SubnetID = s.ID
		}
	}
}

// networkOf returns the network of a place, and the family of the subnet there that Octavia would use; "" if it is
// unknown.
func (b *builder) networkOf(lb LoadBalancer) (network string, family v1.IPFamily) {
	named, known := b.subnets[lb.SubnetID]
	switch {
	case lb.SubnetID != "" && known:
		return named.NetworkID, familyOfSubnet(named)
	case lb.SubnetID != "", lb.Address != "", lb.NetworkID == "":
		return lb.NetworkID, ""
	}
	for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
		if len(SubnetsOfFamily(b.subnets, lb.NetworkID, family)) > 0 {
			return lb.NetworkID, family
		}
	}
	return lb.NetworkID, ""
}

// addFamilyProblem adds the problem that a network has no subnet of the Service's family.
func (b *builder) addFamilyProblem(lb LoadBalancer, network string, current v1.IPFamily) {
	family := b.in.Families[0]
	key, value, explicit, source := annotation.KeySubnetID, lb.SubnetID, lb.Explicit.Subnet, lb.Source.Subnet
	if value == "" {
		key, value, explicit, source = annotation.KeyNetworkID, lb.NetworkID, lb.Explicit.Network, lb.Source.Network
	}
	const fix = "the network %s has no %s subnet for the load balancer's address, only %s: add one to the network, or "
	switch {
	case explicit:
		b.creation.Addf(key, value, fix+"name an %[2]s subnet, or correct %[4]s", network, family, current,
			intent.FieldIPFamilies)
	case source != "":
		b.creation.Addf(annotation.KeyClass, b.options.Class, fix+"name an %[2]s subnet in %[4]s, or correct %[5]s",
			network, family, current, annotation.KeySubnetID, intent.FieldIPFamilies)
	default:
		name := "subnet-id"
		if key == annotation.KeyNetworkID {
			name = "network-id"
		}
		b.creation.Addf(intent.FieldIPFamilies, string(family), fix+"name an %[2]s subnet in %[4]s; %[5]s is %[6]s",
			network, family, current, annotation.KeySubnetID, InConfiguration(name), intent.Quote(value))
	}
}

// SubnetsOfFamily returns the subnets of a family in a network, in the order of their names, so that every manager
// selects the same one.
func SubnetsOfFamily(subnets map[string]api.Subnet, network string, family v1.IPFamily) []api.Subnet {
	var found []api.Subnet
	for _, s := range subnets {
		if s.NetworkID == network && familyOfSubnet(s) == family {
			found = append(found, s)
		}
	}
	sorting.Func(found, func(a, b api.Subnet) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return found
}

// familyOfSubnet returns the family of a subnet.
func familyOfSubnet(s api.Subnet) v1.IPFamily {
	if s.IPVersion == 6 {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// IsPlacedAt reports whether a load balancer in a subnet is where the Service requests it: in the subnet that is named,
// or in another one of its network that has the Service's family.
func (lb LoadBalancer) IsPlacedAt(subnet string) bool {
	return subnet == lb.SubnetID || subnet == lb.NamedSubnetID || slices.Contains(lb.FamilySubnets, subnet)
}

// isOfService reports whether the Service or its class names the place.
func (lb LoadBalancer) isOfService() bool {
	return lb.Explicit.Subnet || lb.Explicit.Network || lb.Source.Subnet != "" || lb.Source.Network != ""
}

func hasIPv6(nodes []*v1.Node) bool {
	return slices.ContainsFunc(nodes, func(n *v1.Node) bool { return NodeAddress(n, v1.IPv6Protocol) != "" })
}

// IsInSubnet reports whether a subnet certainly has an address.
func IsInSubnet(subnet api.Subnet, address string) bool {
	has, known := hasAddress(subnet, address)
	return known && has
}

// IsOutside reports whether a subnet certainly does not have an address.
func IsOutside(subnet api.Subnet, address string) bool {
	has, known := hasAddress(subnet, address)
	return known && !has
}

// hasAddress reports whether a port can have an address of a subnet: Neutron refuses its first one, and the broadcast
// address, after which a subnet of IPv4 has none.
func hasAddress(subnet api.Subnet, address string) (has, known bool) {
	prefix, err := netip.ParsePrefix(subnet.CIDR)
	parsed, invalid := netip.ParseAddr(address)
	if err != nil || invalid != nil {
		return false, false
	}
	parsed = parsed.Unmap()
	isBroadcast := parsed.Is4() && !prefix.Contains(parsed.Next())
	isReserved := parsed == prefix.Masked().Addr() || isBroadcast
	return prefix.Contains(parsed) && (prefix.Bits() >= parsed.BitLen()-1 || !isReserved), true
}
