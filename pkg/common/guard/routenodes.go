package guard

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/views"
)

// ScopeRoutes prepares a wrapped cloud for the framework's route controller, before that starts. It limits new routes
// to the cluster CIDRs, and returns the nodes for the controller: only those that are ours. For any node that it
// sees, the controller writes the condition NetworkUnavailable, but only a node's own manager knows whether the node
// has a network. A node joins the view once it has a provider ID of this cloud.
func ScopeRoutes(
	cloud cloudprovider.Interface, nodes coreinformers.NodeInformer, clusterCIDRs []netip.Prefix,
) coreinformers.NodeInformer {
	if routes, ok := cloud.Routes(); ok {
		if r, ok := routes.(interface {
			LimitTo(clusterCIDRs []netip.Prefix)
		}); ok {
			r.LimitTo(clusterCIDRs)
		}
	}
	owner, ok := cloud.(provider.NodeOwner)
	if !ok {
		return nodes
	}
	return views.OfNodes(nodes, func(node *v1.Node) bool { return owner.OwnsNode(node) == provider.Mine })
}

// LimitTo limits the provider's routes to the cluster CIDRs.
func (r *router) LimitTo(clusterCIDRs []netip.Prefix) {
	if inner, ok := r.inner.(interface {
		LimitTo(clusterCIDRs []netip.Prefix)
	}); ok {
		inner.LimitTo(clusterCIDRs)
	}
}
