package sim

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// Address families of package api.
const (
	familyIPv4 = "IPv4"
	familyIPv6 = "IPv6"
)

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return familyIPv4
	}
	return familyIPv6
}

func validFamily(family string) error {
	if family != familyIPv4 && family != familyIPv6 {
		return invalid("family %q is unknown: use %s or %s", family, familyIPv4, familyIPv6)
	}
	return nil
}

func (r ranges) contains(a netip.Addr) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return p.Contains(a) && isUsable(p, a) })
}

func (r ranges) has(family string) bool {
	return slices.ContainsFunc(r, func(p netip.Prefix) bool { return familyOf(p.Addr()) == family })
}

// isUsable excludes an IPv4 network's own and broadcast address, and IPv6's subnet-router anycast address.
// Prefixes of one or two addresses use all of them (RFC 3021, RFC 6164).
func isUsable(p netip.Prefix, a netip.Addr) bool {
	if p.Bits() >= a.BitLen()-1 {
		return true
	}
	if a == p.Masked().Addr() {
		return false
	}
	return a.Is6() || p.Contains(a.Next())
}

// allocator allocates free addresses. It collects the used ones once, so that an operation can allocate many.
type allocator struct {
	used map[netip.Addr]bool
	// next is the position of the search in each prefix.
	next map[netip.Prefix]netip.Addr
}

func newAllocator() *allocator {
	return &allocator{used: map[netip.Addr]bool{}, next: map[netip.Prefix]netip.Addr{}}
}

func (a *allocator) markUsed(ips ...string) {
	for _, ip := range ips {
		if addr, err := netip.ParseAddr(ip); err == nil {
			a.used[addr] = true
		}
	}
}

// allocate returns the lowest free address of a family, or an error with the exhausted ranges.
func (a *allocator) allocate(pool ranges, family, purpose string) (string, error) {
	var exhausted []string
	for _, p := range pool {
		if familyOf(p.Addr()) != family {
			continue
		}
		exhausted = append(exhausted, p.String())
		start, ok := a.next[p]
		if !ok {
			start = p.Masked().Addr()
		}
		for addr := start; addr.IsValid() && p.Contains(addr); addr = addr.Next() {
			if !a.used[addr] && isUsable(p, addr) {
				a.used[addr] = true
				a.next[p] = addr.Next()
				return addr.String(), nil
			}
		}
	}
	if len(exhausted) == 0 {
		return "", refuse(api.CodePoolExhausted, "this cloud has no %s range for %s", family, purpose)
	}
	return "", refuse(api.CodePoolExhausted, "address pool exhausted: no %s address of %s is free for %s",
		family, strings.Join(exhausted, ", "), purpose)
}

// allocateAddress allocates a public address. It rejects an existing name, so that a caller with a lost reply
// finds the address by its name and does not allocate a second one.
func (t *tx) allocateAddress(spec api.AddressSpec) (api.Address, error) {
	if err := validName("address", spec.Name); err != nil {
		return api.Address{}, err
	}
	if err := validFamily(spec.Family); err != nil {
		return api.Address{}, err
	}
	free := newAllocator()
	for _, a := range t.Addresses {
		if a.Name == spec.Name {
			return api.Address{}, refuse(api.CodeAlreadyExists, "address %q exists: it is %s (%s)", a.Name, a.ID, a.IP)
		}
		free.markUsed(a.IP)
	}
	if err := t.withinQuota(quotaAddresses, 1); err != nil {
		return api.Address{}, err
	}
	ip, err := t.pickAddress(free, spec)
	if err != nil {
		return api.Address{}, err
	}
	a := &api.Address{
		ID: t.newID("addr"), Name: spec.Name, IP: ip, Family: spec.Family, Cluster: spec.Cluster, Tags: spec.Tags,
	}
	t.Addresses[a.ID] = a
	t.markChanged()
	return t.renderAddress(a), nil
}

func (t *tx) pickAddress(free *allocator, spec api.AddressSpec) (string, error) {
	if spec.IP == "" {
		return free.allocate(t.rules.public, spec.Family, "load balancers")
	}
	ip, err := netip.ParseAddr(spec.IP)
	if err != nil || ip.Zone() != "" {
		return "", invalid("%q is not an IP address", spec.IP)
	}
	ip = ip.Unmap()
	switch {
	case familyOf(ip) != spec.Family:
		return "", invalid("address %s is not of family %s", ip, spec.Family)
	case !t.rules.public.contains(ip):
		return "", invalid("address %s is in none of this cloud's pools", ip)
	case free.used[ip]:
		return "", refuse(api.CodeInUse, "address %s is allocated already", ip)
	}
	return ip.String(), nil
}

func (t *tx) releaseAddress(id string) error {
	a, ok := t.Addresses[id]
	if !ok {
		return notFound("address", id)
	}
	if a.LoadBalancer != "" {
		return refuse(api.CodeInUse, "address %s (%s) is in use by load balancer %s", id, a.IP, a.LoadBalancer)
	}
	delete(t.Addresses, id)
	t.markChanged()
	return nil
}
