package fake

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// legacy implements the framework's deprecated interfaces Instances and Zones as a worked example.
// The controllers do not use them beside InstancesV2. Every method reads the cloud anew: there is
// no snapshot here, and no batching.
type legacy struct {
	api    api.API
	source instances.Source
	ids    *scheme
	region string
}

var (
	_ cloudprovider.Instances = (*legacy)(nil)
	_ cloudprovider.Zones     = (*legacy)(nil)
)

// byName returns the instance of a node; one that does not exist is cloudprovider.InstanceNotFound,
// unwrapped, because the framework compares with ==.
func (l *legacy) byName(ctx context.Context, name types.NodeName) (instances.Instance, error) {
	found, err := l.source.Find(ctx, []string{string(name)})
	return one(found, err)
}

// byProviderID is byName for provider IDs. That an ID is another cloud's or malformed is an error
// of its own, never "not found".
func (l *legacy) byProviderID(ctx context.Context, providerID string) (instances.Instance, error) {
	id, err := l.ids.Parse(providerID)
	if err != nil {
		return instances.Instance{}, err
	}
	found, err := l.source.Get(ctx, []string{id})
	return one(found, err)
}

func one(found []instances.Instance, err error) (instances.Instance, error) {
	switch {
	case err != nil:
		return instances.Instance{}, err
	case len(found) == 0:
		return instances.Instance{}, cloudprovider.InstanceNotFound
	default:
		return found[0], nil
	}
}

// NodeAddresses implements cloudprovider.Instances.
func (l *legacy) NodeAddresses(ctx context.Context, name types.NodeName) ([]v1.NodeAddress, error) {
	i, err := l.byName(ctx, name)
	return i.Addresses, err
}

// NodeAddressesByProviderID implements cloudprovider.Instances.
func (l *legacy) NodeAddressesByProviderID(ctx context.Context, providerID string) ([]v1.NodeAddress, error) {
	i, err := l.byProviderID(ctx, providerID)
	return i.Addresses, err
}

// InstanceID implements cloudprovider.Instances. The framework puts the scheme in front of the
// answer, which for this cloud is ZONE/ID.
func (l *legacy) InstanceID(ctx context.Context, nodeName types.NodeName) (string, error) {
	i, err := l.byName(ctx, nodeName)
	return strings.TrimPrefix(i.ProviderID, ProviderName+"://"), err
}

// InstanceType implements cloudprovider.Instances.
func (l *legacy) InstanceType(ctx context.Context, name types.NodeName) (string, error) {
	i, err := l.byName(ctx, name)
	return i.Type, err
}

// InstanceTypeByProviderID implements cloudprovider.Instances.
func (l *legacy) InstanceTypeByProviderID(ctx context.Context, providerID string) (string, error) {
	i, err := l.byProviderID(ctx, providerID)
	return i.Type, err
}

// AddSSHKeyToAllInstances implements cloudprovider.Instances. The key, in the form of ssh-keygen
// (protocol, blob and an optional comment), is one that all instances accept, later ones included.
func (l *legacy) AddSSHKeyToAllInstances(ctx context.Context, user string, keyData []byte) error {
	key := strings.TrimSpace(string(keyData))
	if user == "" || len(strings.Fields(key)) < 2 || strings.ContainsAny(key, "\r\n") {
		return fmt.Errorf("SSH key of user %q: want a user and one line in the form of ssh-keygen: PROTOCOL BLOB [COMMENT]", user)
	}
	return l.api.AddSSHKey(ctx, api.SSHKey{User: user, Key: key})
}

// CurrentNodeName implements cloudprovider.Instances: nodes are named after their hosts.
func (l *legacy) CurrentNodeName(_ context.Context, hostname string) (types.NodeName, error) {
	return types.NodeName(hostname), nil
}

// InstanceExistsByProviderID implements cloudprovider.Instances. False is only said after a read
// of that one instance; every error leaves the question open.
func (l *legacy) InstanceExistsByProviderID(ctx context.Context, providerID string) (bool, error) {
	_, err := l.byProviderID(ctx, providerID)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdownByProviderID implements cloudprovider.Instances.
func (l *legacy) InstanceShutdownByProviderID(ctx context.Context, providerID string) (bool, error) {
	i, err := l.byProviderID(ctx, providerID)
	return i.State == instances.Stopped, err
}

// GetZone implements cloudprovider.Zones: the zone that the manager runs in. A manager runs outside
// the simulated cloud, so this is the region's first zone.
func (l *legacy) GetZone(ctx context.Context) (cloudprovider.Zone, error) {
	zones, err := l.api.ListZones(ctx)
	if err != nil {
		return cloudprovider.Zone{}, err
	}
	for _, zone := range zones {
		if zone.Region == l.region {
			return cloudprovider.Zone{FailureDomain: zone.Name, Region: zone.Region}, nil
		}
	}
	return cloudprovider.Zone{}, fmt.Errorf("region %q has no zone: check region in section [Global]", l.region)
}

// GetZoneByProviderID implements cloudprovider.Zones.
func (l *legacy) GetZoneByProviderID(ctx context.Context, providerID string) (cloudprovider.Zone, error) {
	return zoneOf(l.byProviderID(ctx, providerID))
}

// GetZoneByNodeName implements cloudprovider.Zones.
func (l *legacy) GetZoneByNodeName(ctx context.Context, nodeName types.NodeName) (cloudprovider.Zone, error) {
	return zoneOf(l.byName(ctx, nodeName))
}

func zoneOf(i instances.Instance, err error) (cloudprovider.Zone, error) {
	return cloudprovider.Zone{FailureDomain: i.Zone, Region: i.Region}, err
}

// clusters implements cloudprovider.Clusters over the cluster names that the cloud's objects bear.
type clusters struct{ api api.PlaceAPI }

var _ cloudprovider.Clusters = (*clusters)(nil)

// ListClusters implements cloudprovider.Clusters.
func (c *clusters) ListClusters(ctx context.Context) ([]string, error) {
	found, err := c.api.ListClusters(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found))
	for i, cluster := range found {
		names[i] = cluster.Name
	}
	return names, nil
}

// Master implements cloudprovider.Clusters. A cluster that the cloud does not know, or whose
// control plane it does not know, is an error.
func (c *clusters) Master(ctx context.Context, clusterName string) (string, error) {
	found, err := c.api.ListClusters(ctx)
	if err != nil {
		return "", err
	}
	for _, cluster := range found {
		if cluster.Name == clusterName && cluster.Master != "" {
			return cluster.Master, nil
		}
	}
	return "", fmt.Errorf("the cloud does not know the control plane of cluster %q", clusterName)
}
