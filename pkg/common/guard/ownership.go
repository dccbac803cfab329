package guard

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// ownership returns the ownership of the node. It does no I/O.
func (s *shared) ownership(node *v1.Node) provider.Ownership {
	if isOptedOut(node) {
		return provider.Foreign
	}
	return s.owner.OwnsNode(node)
}

func isOptedOut(node *v1.Node) bool { return node.Labels[provider.ManagedLabel] == "false" }

// foreignReason explains to users why a node is foreign.
func (s *shared) foreignReason(node *v1.Node) string {
	if isOptedOut(node) {
		return "it has the label " + provider.ManagedLabel + "=false"
	}
	return "its provider ID " + node.Spec.ProviderID + " is not one of " + s.provider
}

// ownerOf returns the provider's NodeOwner, or else applies the framework's convention that a provider ID
// begins with the provider's name.
func ownerOf(cloud cloudprovider.Interface) provider.NodeOwner {
	if owner, ok := cloud.(provider.NodeOwner); ok {
		return owner
	}
	return byConvention{scheme: cloud.ProviderName()}
}

type byConvention struct{ scheme string }

var _ provider.NodeOwner = byConvention{}

// OwnsNode implements provider.NodeOwner.
func (c byConvention) OwnsNode(node *v1.Node) provider.Ownership {
	scheme, _, ok := strings.Cut(node.Spec.ProviderID, "://")
	switch {
	case !ok:
		return provider.Unknown
	case scheme == c.scheme:
		return provider.Mine
	default:
		return provider.Foreign
	}
}
