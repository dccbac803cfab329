package routes

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
)

// nodesByAddress returns the Nodes by each IP address in their status.
func nodesByAddress(nodes []*v1.Node) map[string]*v1.Node {
	out := make(map[string]*v1.Node, len(nodes))
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if _, err := netip.ParseAddr(a.Address); err == nil {
				out[a.Address] = node
			}
		}
	}
	return out
}

// nextHop returns the first internal address of a Node in the family of the destination, or "".
func nextHop(node *v1.Node, destination netip.Prefix) string {
	for _, a := range node.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		if err == nil && a.Type == v1.NodeInternalIP && ip.Is4() == destination.Addr().Is4() {
			return a.Address
		}
	}
	return ""
}

// hasRange reports whether the destination is one of the Node's pod ranges.
func hasRange(node *v1.Node, destination netip.Prefix) bool {
	for _, text := range node.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil && p.Masked() == destination {
			return true
		}
	}
	return false
}
