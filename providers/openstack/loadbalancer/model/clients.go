package model

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// allowedCIDRs returns the ranges that may connect to a port: all addresses of each family by default.
func (b *builder) allowedCIDRs(port intent.Port) []string {
	var cidrs []string
	for _, family := range b.in.Families {
		for _, prefix := range b.in.AllowedAt(port, family) {
			cidrs = append(cidrs, prefix.String())
		}
	}
	return cidrs
}

// FilterFamilies returns the ranges of the families of a load balancer: Octavia rejects the others. If there are none,
// it returns a range that no client has: an empty list would let all clients connect.
func FilterFamilies(cidrs []string, families []v1.IPFamily) []string {
	kept := []string{}
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil && slices.Contains(families, FamilyOf(prefix.Addr().String())) {
			kept = append(kept, cidr)
		}
	}
	switch {
	case len(kept) > 0 || len(cidrs) == 0:
		return kept
	case slices.Contains(families, v1.IPv6Protocol):
		return []string{"::/128"}
	default:
		return []string{"0.0.0.0/32"}
	}
}

// LostRanges returns the existing ranges whose clients lose access: those that no desired range contains. Empty ranges
// allow all clients of the families.
func LostRanges(have, want []string, families []v1.IPFamily) []string {
	if len(want) == 0 {
		return nil
	}
	if len(have) == 0 {
		have = FilterFamilies([]string{"0.0.0.0/0", "::/0"}, families)
	}
	var lost []string
	for _, text := range have {
		if prefix, err := netip.ParsePrefix(text); err == nil && !isCovered(prefix, want) {
			lost = append(lost, text)
		}
	}
	return lost
}

// KeepRanges returns the desired ranges with some of the existing ones that stay.
func KeepRanges(have, want, kept []string) []string {
	if len(have) == 0 {
		return nil // All clients are allowed.
	}
	ranges := slices.Clone(kept)
	for _, text := range want {
		prefix, err := netip.ParsePrefix(text)
		isNew := !slices.Contains(have, text)
		if slices.Contains(ranges, text) || err == nil && isNew && isCovered(prefix, kept) {
			continue
		}
		ranges = append(ranges, text)
	}
	return ranges
}

// isCovered reports whether one of the ranges contains a prefix.
func isCovered(prefix netip.Prefix, ranges []string) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		wider, err := netip.ParsePrefix(text)
		return err == nil && wider.Bits() <= prefix.Bits() && wider.Contains(prefix.Addr())
	})
}

// Restricts reports whether ranges exclude a client of their families.
func Restricts(cidrs []string) bool {
	return slices.ContainsFunc(cidrs, func(text string) bool { return !strings.HasSuffix(text, "/0") })
}

// VIPFamilies returns the families of a load balancer's addresses.
func VIPFamilies(lb api.LoadBalancer) []v1.IPFamily {
	families := []v1.IPFamily{FamilyOf(lb.VipAddress)}
	for _, vip := range lb.AdditionalVips {
		if f := FamilyOf(vip.IPAddress); !slices.Contains(families, f) {
			families = append(families, f)
		}
	}
	return families
}
