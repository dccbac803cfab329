package sim

import (
	"net/netip"
	"slices"

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

// maxAssigned bounds what one request may ask for.
const maxAssigned = 50

// assignIPv6 gives a network interface addresses or prefixes, those that are named or the requested number.
func (t *tx) assignIPv6(in ipv6Input) (out assignOutput, err error) {
	n, err := find(interfaceKind, t.interfaces, in.NetworkInterfaceID)
	if err != nil {
		return out, err
	}
	s := t.subnets[n.subnet]
	switch {
	case !s.cidr6.IsValid():
		return out, refuse("InvalidParameterValue", "Subnet '%s' has no IPv6 CIDR block", s.id)
	case in.IPv6AddressCount < 0 || in.IPv6PrefixCount < 0 || in.IPv6AddressCount > maxAssigned ||
		in.IPv6PrefixCount > maxAssigned:
		return out, invalidValue("Counts of IPv6 addresses and prefixes must be between 0 and %d.", maxAssigned)
	case int(in.IPv6AddressCount+in.IPv6PrefixCount)+len(in.IPv6Addresses)+len(in.IPv6Prefix) == 0:
		return out, missingParameter("ipv6AddressCount, ipv6Addresses, ipv6PrefixCount or ipv6Prefixes")
	}
	addresses, prefixes, err := t.assignable(s, in)
	if err != nil {
		return out, err
	}
	for range in.IPv6AddressCount {
		addresses = append(addresses, t.nextIPv6(s))
	}
	for range in.IPv6PrefixCount {
		prefixes = append(prefixes, t.nextPrefix(s))
	}
	n.ipv6, n.prefixes = append(n.ipv6, addresses...), append(n.prefixes, prefixes...)
	out.ENI, out.Addresses.Item = n.id, texts(addresses)
	for _, p := range prefixes {
		out.Prefixes.Item = append(out.Prefixes.Item, p.String())
	}
	return out, nil
}

// assignable reads what a request names.
func (t *tx) assignable(s *subnet, in ipv6Input) (addresses []netip.Addr, prefixes []netip.Prefix, err error) {
	for _, text := range in.IPv6Addresses {
		ip, err := netip.ParseAddr(text)
		if err != nil || !s.cidr6.Contains(ip) {
			return nil, nil, invalidValue("Address %s does not fall within the subnet's address range", text)
		}
		if t.interfaceOf(text) != nil {
			return nil, nil, refuse("InvalidParameterValue", "Address %s is in use", text)
		}
		addresses = append(addresses, ip)
	}
	for _, text := range in.IPv6Prefix {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Bits() != prefixBits || p != p.Masked() || !s.cidr6.Contains(p.Addr()) {
			return nil, nil, invalidValue("Prefix %s is not a /%d in the subnet's address range", text, prefixBits)
		}
		prefixes = append(prefixes, p)
	}
	return addresses, prefixes, nil
}

// nextIPv6 gives out the addresses of a subnet in order, above those that come with network interfaces.
func (t *tx) nextIPv6(s *subnet) netip.Addr {
	key := "ipv6/" + s.id
	t.allocated[key]++
	ip, n := s.cidr6.Addr().As16(), t.allocated[key]
	ip[11], ip[13], ip[14], ip[15] = 1, byte(n>>16), byte(n>>8), byte(n)
	return netip.AddrFrom16(ip)
}

// nextPrefix gives out the prefixes of a subnet in order; the first holds the addresses.
func (t *tx) nextPrefix(s *subnet) netip.Prefix {
	key := "prefix/" + s.id
	t.allocated[key]++
	ip, n := s.cidr6.Addr().As16(), t.allocated[key]
	ip[8], ip[9] = byte(n>>8), byte(n)
	return netip.PrefixFrom(netip.AddrFrom16(ip), prefixBits)
}

// unassignIPv6 takes addresses and prefixes away, all or none.
func (t *tx) unassignIPv6(in ipv6Input) (out unassignOutput, err error) {
	n, err := find(interfaceKind, t.interfaces, in.NetworkInterfaceID)
	if err != nil {
		return out, err
	}
	for _, text := range in.IPv6Addresses {
		if !slices.Contains(texts(n.ipv6), text) {
			return out, invalidValue("Some of [%s] are not assigned to interface %s", text, n.id)
		}
	}
	held := func(p netip.Prefix, list []string) bool { return slices.Contains(list, p.String()) }
	for _, text := range in.IPv6Prefix {
		if !slices.ContainsFunc(n.prefixes, func(p netip.Prefix) bool { return p.String() == text }) {
			return out, invalidValue("Some of [%s] are not assigned to interface %s", text, n.id)
		}
	}
	n.ipv6 = slices.DeleteFunc(n.ipv6, func(ip netip.Addr) bool { return slices.Contains(in.IPv6Addresses, ip.String()) })
	n.prefixes = slices.DeleteFunc(n.prefixes, func(p netip.Prefix) bool { return held(p, in.IPv6Prefix) })
	out.ENI, out.Addresses.Item, out.Prefixes.Item = n.id, in.IPv6Addresses, in.IPv6Prefix
	return out, nil
}

// modifyInterface can enable the primary IPv6 address of a network interface, which cannot be disabled again.
func (t *tx) modifyInterface(in struct {
	NetworkInterfaceID string `q:"NetworkInterfaceId"`
	EnablePrimaryIPv6  *bool  `q:"EnablePrimaryIpv6"`
}) (done, error) {
	n, err := find(interfaceKind, t.interfaces, in.NetworkInterfaceID)
	switch {
	case err != nil:
		return done{}, err
	case in.EnablePrimaryIPv6 == nil:
		return done{}, refuse("InvalidParameterCombination", "No attributes specified.")
	case !*in.EnablePrimaryIPv6 && n.primaryIPv6:
		return done{}, refuse("InvalidParameterCombination", "The primary IPv6 address of %s cannot be disabled.", n.id)
	case *in.EnablePrimaryIPv6 && len(n.ipv6) == 0:
		return done{}, refuse("InvalidParameterCombination", "Network interface %s has no IPv6 address.", n.id)
	}
	n.primaryIPv6 = *in.EnablePrimaryIPv6
	return done{true}, nil
}
