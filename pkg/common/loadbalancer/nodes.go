package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// eligibleNodes returns the nodes that may receive traffic: those that the framework passes to load balancers
// (nodes.TrafficNodes), that are ours, and that are not opted out. It is the only place that decides so. It omits a
// node with an unknown owner; as soon as the node has a provider ID, the framework syncs again.
//
// externalTrafficPolicy: Local has no effect here. All nodes stay targets and the health check decides,
// because pods move faster than members can be changed.
func (c *Controller) eligibleNodes(list []*v1.Node) []*v1.Node {
	return slices.DeleteFunc(nodes.TrafficNodes(list), func(node *v1.Node) bool {
		owns := c.options.OwnsNode
		return node.Labels[provider.ManagedLabel] == "false" || owns != nil && owns(node) != provider.Mine
	})
}

// currentNodes returns the nodes of the cluster now, instead of those of a call. The framework lists nodes before it
// calls, and calls for one Service are serialized: a call with an older list may come second and would remove a node
// that has just joined, and no retry follows.
func (c *Controller) currentNodes(nodes []*v1.Node) []*v1.Node {
	if c.options.Nodes.Lister() == nil {
		return nodes
	}
	all, err := c.options.Nodes.All()
	if err != nil {
		return nodes
	}
	return all
}

// withAddresses returns the nodes with the addresses that their status is about to get. A node that has IP
// addresses keeps them, so that the cloud is called only between the two writes of a node's initialisation,
// when the node has only the kubelet's host name.
func (c *Controller) withAddresses(ctx context.Context, nodes []*v1.Node) ([]*v1.Node, error) {
	if c.options.NodeAddresses == nil {
		return nodes, nil
	}
	for i, node := range nodes {
		if slices.ContainsFunc(node.Status.Addresses, isIP) {
			continue
		}
		addresses, err := c.options.NodeAddresses(ctx, node)
		if errors.Is(err, cloudprovider.InstanceNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the addresses of node %s: %w", node.Name, err)
		}
		// The informer's object is read-only.
		nodes[i] = node.DeepCopy()
		nodes[i].Status.Addresses = append(nodes[i].Status.Addresses, addresses...)
	}
	return nodes, nil
}

func isIP(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP }
