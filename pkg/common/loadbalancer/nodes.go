package loadbalancer

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// targets returns the nodes that may receive traffic: ours, and not opted out. A node whose owner
// is unknown is left out too; as soon as it has a provider ID, the framework syncs again.
//
// externalTrafficPolicy: Local changes nothing here. All nodes stay targets and the health check
// decides, because pods move faster than members can be changed.
func (c *Controller[S, D, O]) targets(nodes []*v1.Node) []*v1.Node {
	kept := make([]*v1.Node, 0, len(nodes))
	for _, node := range nodes {
		if node.Labels[provider.ManagedLabel] == "false" {
			continue
		}
		if owns := c.options.OwnsNode; owns != nil && owns(node) != provider.Mine {
			continue
		}
		kept = append(kept, node)
	}
	return kept
}
