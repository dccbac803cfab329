// Package neutron simulates Neutron.
package neutron

import (
	"net/http"
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// SeesNetwork reports whether the caller sees a network.
func (t *Tx) SeesNetwork(n *Network) bool { return t.Call.May(n.Project) || n.Shared || n.External }

func (t *Tx) seesSubnet(s *Subnet) bool {
	return t.Call.May(s.Project) || t.SeesNetwork(t.Networks[s.Network])
}

func (t *Tx) network(id string) (*Network, error) {
	n := t.Networks[id]
	if n == nil || !t.SeesNetwork(n) {
		return nil, notFound("Network", id)
	}
	return n, nil
}

// Subnet returns a subnet that the caller sees.
func (t *Tx) Subnet(id string) (*Subnet, error) {
	s := t.Subnets[id]
	if s == nil || !t.seesSubnet(s) {
		return nil, notFound("Subnet", id)
	}
	return s, nil
}

func (t *Tx) showNetworkQuota() (any, error) {
	if !t.Call.May(t.Call.Params["id"]) {
		return nil, core.Refuse(http.StatusForbidden, "PolicyNotAuthorized", "rule:get_quota is disallowed by policy")
	}
	out := map[string]int{"network": 100, "subnet": 100, "router": 10, "subnetpool": -1, "rbac_policy": 10, "trunk": -1}
	for _, name := range []string{core.QuotaPorts, core.QuotaFloatingIPs, core.QuotaGroups, core.QuotaRules} {
		out[name] = t.Options.Quotas[name]
	}
	return map[string]any{"quota": out}, nil
}

// NewNetwork creates a network without subnets. The simulated API cannot create networks and subnets.
func (t *Tx) NewNetwork(project, name string, external bool) *Network {
	n := &Network{Base: t.newBase(project, name), AdminStateUp: true, Status: "ACTIVE", External: external,
		MTU: 1450, Subnets: []string{}, PortSecurity: true, Zones: []string{"nova"}, ZoneHints: []string{}}
	t.Networks[n.ID] = n
	return n
}

// NewSubnet creates a subnet of a network.
func (t *Tx) NewSubnet(n *Network, name string, p netip.Prefix) *Subnet {
	gateway := p.Addr().Next()
	last := LastOf(p)
	if p.Addr().Is4() {
		last = last.Prev() // The broadcast address is reserved.
	}
	s := &Subnet{
		Base: t.newBase(n.Project, name), Network: n.ID, CIDR: p.String(), Version: 4, Gateway: new(gateway.String()),
		DHCP: !n.External, Nameservers: []string{}, HostRoutes: []Route{}, ServiceTypes: []string{},
		prefix: p, first: gateway.Next(), last: last, next: gateway.Next(),
	}
	if p.Addr().Is6() {
		s.Version, s.RAMode, s.AddressMode = 6, new("slaac"), new("slaac")
	}
	s.Pools = []addressRange{{Start: s.first.String(), End: s.last.String()}}
	t.Subnets[s.ID], t.Used[s.ID] = s, map[netip.Addr]bool{}
	n.Subnets = append(n.Subnets, s.ID)
	return s
}

// LastOf returns the last address of a network.
func LastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// AllocateIP allocates an address of the subnet: the requested one, or any if want is not valid.
func (t *Tx) AllocateIP(s *Subnet, want netip.Addr) (netip.Addr, error) {
	used := t.Used[s.ID]
	if want.IsValid() {
		switch {
		case !s.Contains(want) || s.isReserved(want):
			return want, badRequest("InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", want)
		case used[want] || s.Gateway != nil && *s.Gateway == want.String():
			return want, conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", want, s.ID)
		}
		used[want] = true
		return want, nil
	}
	start := s.next
	for ip := start; ; {
		next := ip.Next()
		if next.Compare(s.last) > 0 {
			next = s.first
		}
		if !used[ip] {
			used[ip], s.next = true, next
			return ip, nil
		}
		if ip = next; ip == start {
			return ip, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", s.Network)
		}
	}
}

// SubnetsOf returns the subnets of a network with an IP version, or with any for version 0.
func (t *Tx) SubnetsOf(network string, version int) []*Subnet {
	return core.Only(core.BySeq(t.Subnets), func(s *Subnet) bool {
		return s.Network == network && (version == 0 || s.Version == version)
	})
}

// Contains reports whether an address belongs to the subnet.
func (s *Subnet) Contains(ip netip.Addr) bool { return s.prefix.Contains(ip) }

// isReserved reports whether an address is the first one of the subnet or its broadcast address.
func (s *Subnet) isReserved(ip netip.Addr) bool {
	isLast := ip.Is4() && !s.prefix.Contains(ip.Next())
	return s.prefix.Bits() < ip.BitLen()-1 && (isLast || ip == s.prefix.Masked().Addr())
}

// External returns the network of floating IPs.
func (t *Tx) External() *Network {
	for _, n := range core.BySeq(t.Networks) {
		if n.External {
			return n
		}
	}
	return nil
}

// Overlaps reports whether the subnet has addresses of a network.
func (s *Subnet) Overlaps(p netip.Prefix) bool { return s.prefix.Overlaps(p) }
