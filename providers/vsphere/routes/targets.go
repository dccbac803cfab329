package routes

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// Targets implements routes.NodeTargets with the machines of all vCenters.
type Targets struct {
	Instances  cloudprovider.InstancesV2
	Nodes      *nodes.LazyLister
	InstanceID func(providerID string) (string, error)
}

var _ common.NodeTargets = Targets{}

// InstanceIDForNode implements routes.NodeTargets.
func (t Targets) InstanceIDForNode(ctx context.Context, nodeName string) (string, error) {
	lister := t.Nodes.Lister()
	if lister == nil {
		return "", cloudprovider.InstanceNotFound
	}
	node, err := lister.Get(nodeName)
	if err != nil {
		return "", err
	}
	m, err := t.Instances.InstanceMetadata(ctx, node)
	if err != nil {
		return "", err
	}
	return t.InstanceID(m.ProviderID)
}

// hasAddress reports whether the machine of a node has an address, as the vCenter shows it.
func (t Targets) hasAddress(ctx context.Context, node *v1.Node, address string) (bool, error) {
	m, err := t.Instances.InstanceMetadata(ctx, node)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(m.NodeAddresses, func(a v1.NodeAddress) bool { return a.Address == address }), nil
}

// NodeNames implements routes.NodeTargets. Every route of the Source has the name of its node, or is a blackhole.
func (t Targets) NodeNames(context.Context, []string) (map[string][]string, error) { return nil, nil }
