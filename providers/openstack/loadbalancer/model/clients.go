package model

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// allowedCIDRs returns the ranges that may connect to a port: all addresses of each family by default.
func (b *builder) allowedCIDRs(port intent.Port) []string {
	var texts []string
	for _, family := range b.in.Families {
		for _, prefix := range b.in.AllowedAt(port, family) {
			texts = append(texts, prefix.String())
		}
	}
	return texts
}

// OfFamilies filters ranges by the families of a load balancer: Octavia rejects the others. If none is left, it returns
// a range that no client has: an empty list would let all clients connect.
func OfFamilies(cidrs []string, families []v1.IPFamily) []string {
	kept := []string{}
	for _, text := range cidrs {
		if prefix, err := netip.ParsePrefix(text); err == nil && slices.Contains(families, FamilyOf(prefix.Addr().String())) {
			kept = append(kept, text)
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

// VIPFamilies are the families of a load balancer's addresses.
func VIPFamilies(lb api.LoadBalancer) []v1.IPFamily {
	families := []v1.IPFamily{FamilyOf(lb.VipAddress)}
	for _, vip := range lb.AdditionalVips {
		if f := FamilyOf(vip.IPAddress); !slices.Contains(families, f) {
			families = append(families, f)
		}
	}
	return families
}
