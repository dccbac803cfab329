package guard

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// unidentified is the name of the cloud of Unidentified, and the label of its metrics.
const unidentified = "all"

// Unidentified returns the cloud of the Nodes that may be of any of several clouds, with the guards, for the
// framework's controller that deletes Nodes. HasInstance returns false only if all clouds have said no. The Nodes have
// no provider ID, so that they are kept for the grace period.
func Unidentified(hasInstance func(context.Context, *v1.Node) (bool, error), o Options) cloudprovider.Interface {
	return Wrap(&anyCloud{Base: provider.NewBase(unidentified), hasInstance: hasInstance}, o)
}

// anyCloud has the instances of several clouds.
type anyCloud struct {
	provider.Base
	hasInstance func(context.Context, *v1.Node) (bool, error)
}

var _ cloudprovider.InstancesV2 = (*anyCloud)(nil)

// OwnsNode implements provider.NodeOwner.
func (*anyCloud) OwnsNode(node *v1.Node) provider.Ownership {
	if node.Spec.ProviderID != "" {
		return provider.Foreign
	}
	return provider.Unknown
}

// LoadBalancer implements cloudprovider.Interface.
func (*anyCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes implements cloudprovider.Interface.
func (*anyCloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// InstancesV2 implements cloudprovider.Interface.
func (c *anyCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

// InstanceExists implements cloudprovider.InstancesV2.
func (c *anyCloud) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	return c.hasInstance(ctx, node)
}

// InstanceShutdown implements cloudprovider.InstancesV2. Only its own cloud knows it.
func (*anyCloud) InstanceShutdown(context.Context, *v1.Node) (bool, error) { return false, nil }

// InstanceMetadata implements cloudprovider.InstancesV2. The controller that deletes Nodes does not call it.
func (*anyCloud) InstanceMetadata(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, cloudprovider.NotImplemented
}
