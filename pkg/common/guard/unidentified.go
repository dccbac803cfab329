package guard

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Unidentified returns the cloud of the Nodes that may be of any of several clouds, with the guards, for the
// framework's controller that deletes Nodes. HasInstance returns false only if all clouds have said no. The Nodes have
// no provider ID, so that they are kept for the grace period, and while any cloud finds none of its Ready Nodes.
func Unidentified(clouds []provider.InstanceFinder, hasInstance func(context.Context, *v1.Node) (bool, error),
	o Options) cloudprovider.Interface {
	return Wrap(&anyCloud{Base: provider.NewBase(unidentified), clouds: clouds, hasInstance: hasInstance}, o)
}

// anyCloud has the instances of several clouds.
type anyCloud struct {
	provider.Base
	clouds      []provider.InstanceFinder
	hasInstance func(context.Context, *v1.Node) (bool, error)
}

var (
	_ cloudprovider.InstancesV2 = (*anyCloud)(nil)
	_ peerChecker               = (*anyCloud)(nil)
)

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

// missingPeers implements peerChecker. A node may be of the cloud that answers for another account.
func (c *anyCloud) missingPeers(ctx context.Context, since time.Time) ([]string, error) {
	var all []string
	for _, cloud := range c.clouds {
		missing, err := cloud.MissingPeers(ctx, since)
		if err != nil {
			return nil, err
		}
		all = append(all, missing...)
	}
	return all, nil
}

// InstanceShutdown implements cloudprovider.InstancesV2. Only its own cloud knows it.
func (*anyCloud) InstanceShutdown(context.Context, *v1.Node) (bool, error) { return false, nil }

// InstanceMetadata implements cloudprovider.InstancesV2. The controller that deletes Nodes does not call it.
func (*anyCloud) InstanceMetadata(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, cloudprovider.NotImplemented
}
