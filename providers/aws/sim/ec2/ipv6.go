package ec2

import (
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// prefixBits is the size of the IPv6 prefixes that EC2 delegates to network interfaces.
const prefixBits = 80

type ipv6Input struct {
	NetworkInterfaceID string   `q:"NetworkInterfaceId"`
	IPv6AddressCount   int32    `q:"Ipv6AddressCount"`
	IPv6Addresses      []string `q:"Ipv6Addresses"`
	IPv6PrefixCount    int32    `q:"Ipv6PrefixCount"`
	IPv6Prefix         []string `q:"Ipv6Prefix"`
}

type assignOutput struct {
	ENI       string              `xml:"networkInterfaceId"`
	Addresses query.Items[string] `xml:"assignedIpv6Addresses"`
	Prefixes  query.Items[string] `xml:"assignedIpv6PrefixSet"`
}

type unassignOutput struct {
	ENI       string              `xml:"networkInterfaceId"`
	Addresses query.Items[string] `xml:"unassignedIpv6Addresses"`
	Prefixes  query.Items[string] `xml:"unassignedIpv6PrefixSet"`
}

// maxAssigned bounds the number of addresses in one request.
const maxAssigned = 50

// assignIPv6 assigns addresses or prefixes to a network interface: those of the request, or the requested number.
func (t *Tx) assignIPv6(in ipv6Input) (out assignOutput, err error) {
	n, err := core.Find(interfaceKind, t.Interfaces, in.NetworkInterfaceID)
	if err != nil {
		return out, err
	}
	s := t.Subnets[n.Subnet]
	switch {
	case !s.CIDR6.IsValid():
		return out, core.InvalidValue("Subnet '%s' has no IPv6 CIDR block", s.ID)
	case in.IPv6AddressCount < 0 || in.IPv6PrefixCount < 0 || in.IPv6AddressCount > maxAssigned ||
		in.IPv6PrefixCount > maxAssigned:
		return out, core.InvalidValue("Counts of IPv6 addresses and prefixes must be between 0 and %d.", maxAssigned)
	case int(in.IPv6AddressCount+in.IPv6PrefixCount)+len(in.IPv6Addresses)+len(in.IPv6Prefix) == 0:
		return out, core.MissingParameter("ipv6AddressCount, ipv6Addresses, ipv6PrefixCount or ipv6Prefixes")
	}
	addresses, prefixes, err := t.parseAssignment(s, in)
	if err != nil {
		return out, err
	}
	for range in.IPv6AddressCount {
		addresses = append(addresses, t.nextIPv6(s))
	}
	for range in.IPv6PrefixCount {
		prefixes = append(prefixes, t.nextPrefix(s))
	}
	n.IPv6, n.Prefixes = append(n.IPv6, addresses...), append(n.Prefixes, prefixes...)
	out.ENI, out.Addresses.Item = n.ID, Texts(addresses)
	for _, p := range prefixes {
		out.Prefixes.Item = append(out.Prefixes.Item, p.String())
	}
	return out, nil
}

// parseAssignment parses the addresses and prefixes of a request.
func (t *Tx) parseAssignment(s *Subnet, in ipv6Input) (addresses []netip.Addr, prefixes []netip.Prefix, err error) {
	for _, text := range in.IPv6Addresses {
		ip, err := netip.ParseAddr(text)
		if err != nil || !s.CIDR6.Contains(ip) {
			return nil, nil, core.InvalidValue("Address %s does not fall within the subnet's address range", text)
		}
		if t.InterfaceOf(text) != nil {
			return nil, nil, core.InvalidValue("Address %s is in use", text)
		}
		addresses = append(addresses, ip)
	}
	for _, text := range in.IPv6Prefix {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Bits() != prefixBits || p != p.Masked() || !s.CIDR6.Contains(p.Addr()) {
			return nil, nil, core.InvalidValue("Prefix %s is not a /%d in the subnet's address range", text, prefixBits)
		}
		prefixes = append(prefixes, p)
	}
	return addresses, prefixes, nil
}

// nextIPv6 allocates the addresses of a subnet in order, above those of new network interfaces.
func (t *Tx) nextIPv6(s *Subnet) netip.Addr {
	key := "ipv6/" + s.ID
	t.allocated[key]++
	ip, n := s.CIDR6.Addr().As16(), t.allocated[key]
	ip[11], ip[13], ip[14], ip[15] = 1, byte(n>>16), byte(n>>8), byte(n)
	return netip.AddrFrom16(ip)
}

// nextPrefix allocates the prefixes of a subnet in order; the first contains the addresses.
func (t *Tx) nextPrefix(s *Subnet) netip.Prefix {
	key := "prefix/" + s.ID
	t.allocated[key]++
	ip, n := s.CIDR6.Addr().As16(), t.allocated[key]
	ip[8], ip[9] = byte(n>>8), byte(n)
	return netip.PrefixFrom(netip.AddrFrom16(ip), prefixBits)
}

// unassignIPv6 removes addresses and prefixes, all or none.
func (t *Tx) unassignIPv6(in ipv6Input) (out unassignOutput, err error) {
	n, err := core.Find(interfaceKind, t.Interfaces, in.NetworkInterfaceID)
	if err != nil {
		return out, err
	}
	for _, text := range in.IPv6Addresses {
		if !slices.Contains(Texts(n.IPv6), text) {
			return out, core.InvalidValue("Some of [%s] are not assigned to interface %s", text, n.ID)
		}
	}
	for _, text := range in.IPv6Prefix {
		if !slices.ContainsFunc(n.Prefixes, func(p netip.Prefix) bool { return p.String() == text }) {
			return out, core.InvalidValue("Some of [%s] are not assigned to interface %s", text, n.ID)
		}
	}
	n.IPv6 = slices.DeleteFunc(n.IPv6, func(ip netip.Addr) bool { return slices.Contains(in.IPv6Addresses, ip.String()) })
	n.Prefixes = slices.DeleteFunc(n.Prefixes,
		func(p netip.Prefix) bool { return slices.Contains(in.IPv6Prefix, p.String()) })
	out.ENI, out.Addresses.Item, out.Prefixes.Item = n.ID, in.IPv6Addresses, in.IPv6Prefix
	return out, nil
}

// modifyInterface can enable the primary IPv6 address of a network interface, which cannot be disabled again.
func (t *Tx) modifyInterface(in struct {
	NetworkInterfaceID string `q:"NetworkInterfaceId"`
	EnablePrimaryIPv6  *bool  `q:"EnablePrimaryIpv6"`
}) (core.Done, error) {
	n, err := core.Find(interfaceKind, t.Interfaces, in.NetworkInterfaceID)
	switch {
	case err != nil:
		return core.Done{}, err
	case in.EnablePrimaryIPv6 == nil:
		return core.Done{}, core.Refuse("InvalidParameterCombination", "No attributes specified.")
	case !*in.EnablePrimaryIPv6 && n.PrimaryIPv6:
		return core.Done{}, core.Refuse("InvalidParameterCombination", "The primary IPv6 address of %s cannot be disabled.",
			n.ID)
	case *in.EnablePrimaryIPv6 && len(n.IPv6) == 0:
		return core.Done{}, core.Refuse("InvalidParameterCombination", "Network interface %s has no IPv6 address.", n.ID)
	}
	n.PrimaryIPv6 = *in.EnablePrimaryIPv6
	return core.Done{Return: true}, nil
}
