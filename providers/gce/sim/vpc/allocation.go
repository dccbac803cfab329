package vpc

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Types and tiers of addresses.
const (
	TypeExternal = "EXTERNAL"
	TypeInternal = "INTERNAL"
	TierPremium  = "PREMIUM"
	TierStandard = "STANDARD"
)

// purposeShared is the purpose of internal addresses with several users.
const purposeShared = "SHARED_LOADBALANCER_VIP"

// holderOf returns what has an address, or nil.
func (s *State) holderOf(network string, ip netip.Addr) *holder {
	return s.holders[addressKey{network, ip}]
}

// Hold makes a resource a user of an address. Network is empty for external addresses.
func (s *State) Hold(network string, ip netip.Addr, tier, user string) {
	key := addressKey{network, ip}
	if s.holders[key] == nil {
		s.holders[key] = &holder{tier: tier}
	}
	s.holders[key].users = append(s.holders[key].users, user)
}

// Release ends the use of an address by a resource.
func (s *State) Release(network, address, user string) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return
	}
	key := addressKey{network, ip}
	if h := s.holders[key]; h != nil {
		h.users = slices.DeleteFunc(h.users, func(other string) bool { return other == user })
		s.dropUnused(key)
	}
}

// dropUnused removes the holder of an address that is free.
func (s *State) dropUnused(key addressKey) {
	if h := s.holders[key]; h.reserved == nil && len(h.users) == 0 {
		delete(s.holders, key)
	}
}

// FreeExternal returns a free external address of a tier.
func (s *State) FreeExternal(tier string) (netip.Addr, error) {
	if tier == TierStandard {
		return s.free("", s.Options.Standard)
	}
	return s.free("", s.Options.Public)
}

// FreeInternal returns a free address of a subnet.
func (s *State) FreeInternal(subnet *Subnetwork) (netip.Addr, error) {
	return s.free(subnet.Network, subnet.prefix)
}

// free returns a free address of a range. The first two and the last two addresses of a range are not usable.
func (s *State) free(network string, prefix netip.Prefix) (netip.Addr, error) {
	key := network + " " + prefix.String()
	start, ok := s.next[key]
	if !ok {
		start = prefix.Addr().Next().Next()
	}
	for ip := start; ; {
		if !isUsable(prefix, ip) {
			ip = prefix.Addr().Next().Next()
		}
		if s.holderOf(network, ip) == nil {
			s.next[key] = ip.Next()
			return ip, nil
		}
		if ip = ip.Next(); ip == start {
			return netip.Addr{}, core.BadRequest("ipSpaceExhausted", "IP space of '%s' is exhausted.", prefix)
		}
	}
}

// isUsable reports whether resources can have an address of a range.
func isUsable(prefix netip.Prefix, ip netip.Addr) bool {
	first := prefix.Addr().Next()
	return prefix.Contains(ip) && first.Less(ip) && prefix.Contains(ip.Next().Next())
}

// ClaimExternal checks that a resource can use an external address of a tier.
func (s *State) ClaimExternal(field, region string, ip netip.Addr, tier string) error {
	h := s.holderOf("", ip)
	switch {
	case h == nil || h.reserved == nil && len(h.users) > 0 && h.tier != tier:
		return core.Invalid(field, ip.String(), "The specified external IP address '%s' was not found in region '%s'.", ip,
			region)
	case h.tier != tier:
		return core.Invalid(field, ip.String(), "The network tier of external IP address is %s, that of the resource is %s.",
			h.tier, tier)
	case h.reserved != nil && (h.reserved.Ref().Region() != region || h.reserved.AddressType != TypeExternal):
		return core.Invalid(field, ip.String(), "The address must be an external one in region '%s'.", region)
	}
	return nil
}

// ClaimInternal checks that a resource can use an address of a subnet.
func (s *State) ClaimInternal(field string, subnet *Subnetwork, ip netip.Addr) error {
	if !isUsable(subnet.prefix, ip) {
		return core.Invalid(field, ip.String(), "Requested internal IP address is outside the subnetwork CIDR range.")
	}
	return nil
}

// IsShared reports whether an internal address can have several users.
func (s *State) IsShared(network string, ip netip.Addr) bool {
	h := s.holderOf(network, ip)
	return h != nil && h.reserved != nil && h.reserved.Purpose == purposeShared
}

// CheckAddresses returns the addresses that have a user that does not exist, or a reservation that is gone.
func (s *State) CheckAddresses(exists func(url string) bool) []string {
	var out []string
	for key, h := range s.holders {
		for _, user := range h.users {
			if !exists(user) {
				out = append(out, fmt.Sprintf("address %s is in use by %s, which does not exist", key.ip, user))
			}
		}
		if h.reserved != nil && !exists(h.reserved.SelfLink) {
			out = append(out, fmt.Sprintf("address %s is reserved by %s, which does not exist", key.ip, h.reserved.SelfLink))
		}
	}
	slices.Sort(out)
	return out
}

// Users returns the URLs of the resources that use an address.
func (s *State) Users(network string, ip netip.Addr) []string {
	if h := s.holderOf(network, ip); h != nil {
		return slices.Clone(h.users)
	}
	return nil
}
