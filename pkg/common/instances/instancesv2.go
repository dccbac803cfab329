package instances

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// finder finds the instances of nodes.
type finder interface {
	// lookupNode returns the node's instance, as it was read at most age ago, or after the call if age is 0. With bulk,
	// many nodes are looked up, so that a list is worth its calls.
	lookupNode(ctx context.Context, node *v1.Node, age time.Duration, bulk bool) (Instance, bool, error)
}

// instancesV2 implements the methods of cloudprovider.InstancesV2 with the instances of a finder.
type instancesV2 struct{ finder }

// InstanceExists reports whether the node's instance exists. It returns false only after a read of that
// instance that started after the call.
func (a instancesV2) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, found, err := a.lookupNode(ctx, node, SnapshotMaxAge, false)
	return found, err
}

// ReadInstanceExists implements provider.InstanceReader.
func (a instancesV2) ReadInstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, found, err := a.lookupNode(ctx, node, 0, false)
	return found, err
}

// JoiningInstanceExists implements provider.InstanceReader.
func (a instancesV2) JoiningInstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, found, err := a.lookupNode(ctx, node, JoinMaxAge, true)
	return found, err
}

// InstanceShutdown reports whether the node's instance is stopped. It returns
// cloudprovider.InstanceNotFound if the instance does not exist.
func (a instancesV2) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	in, found, err := a.lookupNode(ctx, node, SnapshotMaxAge, false)
	if err != nil {
		return false, err
	}
	if !found {
		return false, cloudprovider.InstanceNotFound
	}
	return in.State == Stopped, nil
}

// InstanceMetadata returns the node's addresses and labels. It returns cloudprovider.InstanceNotFound if
// the instance does not exist.
func (a instancesV2) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	age := SnapshotMaxAge
	if nodes.Uninitialized(node) {
		age = JoinMaxAge
	}
	in, found, err := a.lookupNode(ctx, node, age, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, cloudprovider.InstanceNotFound
	}
	if in.Incomplete != nil && nodes.Uninitialized(node) {
		return nil, in.Incomplete
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    in.ProviderID,
		InstanceType:  in.Type,
		NodeAddresses: slices.Clone(in.Addresses),
		Zone:          in.Zone,
		Region:        in.Region,
		// The framework and its callers may modify the result.
		AdditionalLabels: maps.Clone(in.Labels),
	}, nil
}

// NodeAddresses returns the addresses that the framework is about to set in the node's status: those of the
// instance, restricted by the kubelet's --node-ip. It returns cloudprovider.InstanceNotFound if the
// instance does not exist, and no addresses for a --node-ip that the instance does not have: the framework sets none
// either. An error would stop the load balancers of all nodes, for what one kubelet has written.
func (a instancesV2) NodeAddresses(ctx context.Context, node *v1.Node) ([]v1.NodeAddress, error) {
	in, found, err := a.lookupNode(ctx, node, SnapshotMaxAge, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, cloudprovider.InstanceNotFound
	}
	if nodeIP, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		addresses, err := cloudnodeutil.GetNodeAddressesFromNodeIP(nodeIP, in.Addresses)
		if err != nil {
			klog.FromContext(ctx).V(1).Info("A node gets no traffic, because it has no address", "node", node.Name, "reason",
				err.Error())
			return nil, nil
		}
		return addresses, nil
	}
	return slices.Clone(in.Addresses), nil
}
