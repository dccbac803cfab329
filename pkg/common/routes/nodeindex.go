package routes

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// NodeIndex finds Nodes by their pod CIDRs and addresses. A kubelet writes the addresses of its own Node, and several
// Nodes may have the same: an address alone does not identify the Node of a route.
type NodeIndex struct {
	byCIDR    map[string][]*v1.Node
	byAddress map[string][]*v1.Node
	byName    map[string]*v1.Node
	// cidrs are the pod CIDRs of all Nodes, in the order of their Nodes.
	cidrs []podCIDR
	// invalid are the errors about pod CIDRs that cannot be parsed.
	invalid []error
}

// podCIDR is a pod CIDR of a Node.
type podCIDR struct {
	prefix netip.Prefix
	node   *v1.Node
}

// IndexNodes returns an index of the Nodes. Of several Nodes with the same pod CIDR or address, the oldest is first.
func IndexNodes(list []*v1.Node) *NodeIndex {
	x := &NodeIndex{byCIDR: map[string][]*v1.Node{}, byAddress: map[string][]*v1.Node{}, byName: map[string]*v1.Node{}}
	for _, node := range sorting.SortedFunc(slices.Values(list), compareAge) {
		x.byName[node.Name] = node
		for _, cidr := range node.Spec.PodCIDRs {
			p, err := netip.ParsePrefix(cidr)
			if err != nil {
				x.invalid = append(x.invalid, fmt.Errorf("node %s: its pod CIDR %q is not a CIDR: %w", node.Name, cidr, err))
				continue
			}
			p = p.Masked()
			x.cidrs = append(x.cidrs, podCIDR{p, node})
			x.byCIDR[p.String()] = append(x.byCIDR[p.String()], node)
		}
		for _, address := range node.Status.Addresses {
			if _, err := netip.ParseAddr(address.Address); err == nil && !slices.Contains(x.byAddress[address.Address], node) {
				x.byAddress[address.Address] = append(x.byAddress[address.Address], node)
			}
		}
	}
	return x
}

// compareAge orders Nodes by age, the oldest first. The API server sets the creation time.
func compareAge(a, b *v1.Node) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// WithCIDR returns the Nodes that have the destination as a pod CIDR.
func (x *NodeIndex) WithCIDR(destination string) []*v1.Node {
	if found, ok := x.byCIDR[destination]; ok {
		return found
	}
	canonical, err := canonicalCIDR(destination)
	if err != nil {
		return nil
	}
	return x.byCIDR[canonical]
}

// WithAddress returns the Nodes with the IP address in their status.
func (x *NodeIndex) WithAddress(address string) []*v1.Node { return x.byAddress[address] }

// Named returns the Node of that name, or nil.
func (x *NodeIndex) Named(name string) *v1.Node { return x.byName[name] }

// hasCIDR reports whether the Node of that name has the destination as a pod CIDR.
func (x *NodeIndex) hasCIDR(name, destination string) bool {
	node := x.byName[name]
	return node != nil && slices.Contains(x.WithCIDR(destination), node)
}

// At returns the Node of a route through an address, as far as the Nodes tell: one that has the destination as a pod
// CIDR and the address in its status. Otherwise certain is false if a Node has the destination: its status may lack the
// address, and only the cloud knows whether its instance has it. If no Node has the destination, At returns any Node
// with the address, or nil.
func (x *NodeIndex) At(destination, address string) (node *v1.Node, certain bool) {
	holders, claimants := x.WithCIDR(destination), x.WithAddress(address)
	for _, holder := range holders {
		if slices.Contains(claimants, holder) {
			return holder, true
		}
	}
	if len(claimants) > 0 {
		node = claimants[0]
	}
	return node, len(holders) == 0
}

// choose returns the name of the node that a route belongs to: of the nodes of its instance, one with the destination
// as a pod CIDR, or else the first.
func (x *NodeIndex) choose(candidates []string, destination string) string {
	for _, name := range candidates {
		if x.hasCIDR(name, destination) {
			return name
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	return candidates[0]
}

// checkCIDR returns an error if the node must not get a route to the destination: it is outside of the cluster CIDRs,
// or overlaps a pod CIDR of another Node that is older or has its route already. A kubelet chooses the pod CIDRs of
// the Node that it registers, so that such a route could attract traffic of other nodes, or of the network. routed
// are the nodes of the routes that exist, by destination.
func (x *NodeIndex) checkCIDR(
	nodeName, destination string, clusterCIDRs []netip.Prefix, routed map[string]string,
) error {
	p, err := netip.ParsePrefix(destination)
	if err != nil {
		return invalidCIDR(err)
	}
	if len(clusterCIDRs) > 0 && !slices.ContainsFunc(clusterCIDRs, func(c netip.Prefix) bool { return contains(c, p) }) {
		return invalidCIDR(fmt.Errorf("%s is not within --cluster-cidr=%s: add its range there if pods of this cluster "+
			"have it, else delete the node and let it register again", destination, joinPrefixes(clusterCIDRs)))
	}
	node := x.byName[nodeName]
	if node == nil {
		return nil
	}
	for _, other := range x.cidrs {
		if other.node == node || !other.prefix.Overlaps(p) {
			continue
		}
		if routed[other.prefix.String()] == other.node.Name || compareAge(other.node, node) < 0 {
			return invalidCIDR(fmt.Errorf("%s overlaps the pod CIDR %s of node %s, which had it before: delete the node "+
				"with the wrong pod CIDR and let it register again", destination, other.prefix, other.node.Name))
		}
	}
	return nil
}

// contains reports whether all addresses of inner are in outer.
func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

func joinPrefixes(list []netip.Prefix) string {
	text := ""
	for i, p := range list {
		if i > 0 {
			text += ","
		}
		text += p.String()
	}
	return text
}

func invalidCIDR(err error) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "create route", Err: err}
}

// canonicalCIDR returns the CIDR in the form in which destinations are compared.
func canonicalCIDR(cidr string) (string, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", fmt.Errorf("route destination %q is not a CIDR: %w", cidr, err)
	}
	return p.Masked().String(), nil
}
