package elb

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
)

// The simulator forwards no traffic, but evaluates security groups: a target that the load balancer may not
// reach is unhealthy, and LoadBalancers omits it.

// Peer is the source of connections: the network interfaces of a load balancer.
type Peer struct {
	groups    []string
	addresses []netip.Addr
	// ipv6 is set if the peer connects from its IPv6 addresses.
	ipv6 bool
}

// OverIPv6 returns the peer as the source of connections over IPv6.
func (p Peer) OverIPv6() Peer {
	p.ipv6 = true
	return p
}

// PeerOf returns a load balancer as the source of connections.
func (t *Tx) PeerOf(enis map[string]string, groups []string) Peer {
	p := Peer{groups: groups}
	for _, id := range enis {
		if n := t.Interfaces[id]; n != nil {
			p.addresses = append(p.addresses, slices.Concat(n.Private, n.IPv6)...)
		}
	}
	return p
}

// Admits reports whether the rules of any of the groups allow a peer. Rules for networks must cover each of the
// peer's addresses of the family that it connects over.
func (t *Tx) Admits(groups []string, p Peer, protocol string, port int32) bool {
	var networks []netip.Prefix
	for _, r := range t.ingress(groups, protocol, port) {
		if r.Group != "" && slices.Contains(p.groups, r.Group) {
			return true
		}
		if network, err := netip.ParsePrefix(r.CIDR4 + r.CIDR6); err == nil {
			networks = append(networks, network)
		}
	}
	if len(networks) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.addresses, func(ip netip.Addr) bool {
		return ip.Is6() == p.ipv6 && !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
	})
}

// RangesOf returns the networks that rules of the groups allow on a port.
func (t *Tx) RangesOf(groups []string, protocol string, port int32, keep func(*ec2.Rule) bool) []string {
	var out []string
	for _, r := range t.ingress(groups, protocol, port) {
		if cidr := cmp.Or(r.CIDR4, r.CIDR6); cidr != "" && keep(r) {
			out = append(out, cidr)
		}
	}
	return world.SourceRanges(out)
}

// ingress returns the ingress rules of groups for a protocol and a port.
func (t *Tx) ingress(groups []string, protocol string, port int32) []*ec2.Rule {
	var out []*ec2.Rule
	for _, id := range groups {
		if g := t.Groups[id]; g != nil {
			for _, r := range g.Ingress {
				if r.Covers(protocol, port) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// DriftedInterval returns another health check interval, which load balancers of both generations accept with every
// timeout.
func DriftedInterval(seconds int32) int32 {
	if seconds > 200 {
		return seconds - 7
	}
	return seconds + 7
}
