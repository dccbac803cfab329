package guard

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// instancesOf returns the provider's InstancesV2, or one over its older Instances and Zones.
func instancesOf(cloud cloudprovider.Interface) (cloudprovider.InstancesV2, bool) {
	if inner, ok := cloud.InstancesV2(); ok {
		return inner, true
	}
	inner, ok := cloud.Instances()
	if !ok {
		return nil, false
	}
	o := &older{scheme: cloud.ProviderName(), instances: inner}
	if zones, ok := cloud.Zones(); ok {
		o.zones = zones
	}
	return o, true
}

// older answers InstancesV2 from Instances and Zones with the calls that the framework itself
// would make of them.
type older struct {
	scheme    string
	instances cloudprovider.Instances
	zones     cloudprovider.Zones // nil if there are none
}

var _ cloudprovider.InstancesV2 = (*older)(nil)

// providerID returns the node's provider ID, or the one that its name leads to.
func (o *older) providerID(ctx context.Context, node *v1.Node) (string, error) {
	if node.Spec.ProviderID != "" {
		return node.Spec.ProviderID, nil
	}
	id, err := o.instances.InstanceID(ctx, types.NodeName(node.Name))
	if err != nil {
		return "", err
	}
	return o.scheme + "://" + id, nil
}

// InstanceExists implements cloudprovider.InstancesV2.
func (o *older) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	id, err := o.providerID(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return o.instances.InstanceExistsByProviderID(ctx, id)
}

// InstanceShutdown implements cloudprovider.InstancesV2. A provider that cannot tell says that it
// runs, as the framework reads it.
func (o *older) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	id, err := o.providerID(ctx, node)
	if err != nil {
		return false, err
	}
	shutdown, err := o.instances.InstanceShutdownByProviderID(ctx, id)
	if errors.Is(err, cloudprovider.NotImplemented) {
		return false, nil
	}
	return shutdown, err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (o *older) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	id, err := o.providerID(ctx, node)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{ProviderID: id}
	if metadata.NodeAddresses, err = o.instances.NodeAddressesByProviderID(ctx, id); err != nil {
		return nil, err
	}
	if metadata.InstanceType, err = o.instances.InstanceTypeByProviderID(ctx, id); err != nil {
		return nil, err
	}
	if o.zones == nil {
		return metadata, nil
	}
	zone, err := o.zones.GetZoneByProviderID(ctx, id)
	if err != nil {
		return nil, err
	}
	metadata.Zone, metadata.Region = zone.FailureDomain, zone.Region
	return metadata, nil
}
