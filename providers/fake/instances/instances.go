// Package instances reads the instances of nodes, and adopts nodes that run outside the cloud.
package instances

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/client"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
)

// Options configure New.
type Options struct {
	API   api.API
	IDs   *names.Scheme
	Nodes *nodes.LazyLister
	Clock clock.WithTicker
	// Region of the instances.
	Region string
	// Adopt launches instances for nodes that have none, of InstanceType; empty lets the cloud choose.
	Adopt        bool
	InstanceType string
	// InMemory is true for a cloud in this process's memory, which was empty when the process started. A node
	// with one of its IDs then identifies an instance that was lost.
	InMemory bool
}

// Instances launches an instance for every node, if the configuration enables it: nodes of kind and kwok run
// without any cloud. It offers the node of a call for adoption; pkg/common/instances does
// everything else.
type Instances struct {
	*common.Instances
	adopter *adopter
}

var _ cloudprovider.InstancesV2 = (*Instances)(nil)

// New returns the instances of nodes.
func New(o Options) *Instances {
	a := &adopter{
		api: o.API, ids: o.IDs, enabled: o.Adopt, inMemory: o.InMemory, instanceType: o.InstanceType,
		pending: map[string]*pendingNode{}, nodes: o.Nodes,
	}
	return &Instances{adopter: a, Instances: common.New(
		common.Options{Provider: names.Provider, Clock: o.Clock, MaxBatch: client.MaxInstances, Nodes: o.Nodes},
		&source{api: o.API, region: o.Region, adopter: a}, o.IDs)}
}

// SetDryRun disables adoption.
func (i *Instances) SetDryRun(dryRun bool) { i.adopter.setDryRun(dryRun) }

// InstanceExists implements cloudprovider.InstancesV2.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	done := i.adopter.offer(node)
	defer done()
	return i.Instances.InstanceExists(ctx, node)
}

// ReadInstanceExists implements provider.InstanceReader.
func (i *Instances) ReadInstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	done := i.adopter.offer(node)
	defer done()
	return i.Instances.ReadInstanceExists(ctx, node)
}

// JoiningInstanceExists implements provider.InstanceReader.
func (i *Instances) JoiningInstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	done := i.adopter.offer(node)
	defer done()
	return i.Instances.JoiningInstanceExists(ctx, node)
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	done := i.adopter.offer(node)
	defer done()
	return i.Instances.InstanceShutdown(ctx, node)
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	done := i.adopter.offer(node)
	defer done()
	return i.Instances.InstanceMetadata(ctx, node)
}

// source reads instances from the cloud. pkg/common/instances adds batching, the snapshot and the rules for
// deleted instances.
type source struct {
	api    api.InstanceAPI
	region string
	// adopter launches instances for nodes that run outside the cloud.
	adopter *adopter
}

var _ common.Source = (*source)(nil)

// List implements common.Source.
func (s *source) List(ctx context.Context) ([]common.Instance, error) {
	found, err := s.api.ListInstances(ctx)
	if err != nil {
		return nil, err
	}
	return s.convert(found)
}

// Get implements common.Source.
func (s *source) Get(ctx context.Context, ids []string) ([]common.Instance, error) {
	found, err := s.api.GetInstances(ctx, ids)
	if err != nil {
		return nil, err
	}
	adopted, err := s.adopter.adopt(ctx, missing(ids, found, func(i api.Instance) string { return i.ID }))
	if err != nil {
		return nil, err
	}
	return s.convert(append(found, adopted...))
}

// Find implements common.Source. The name of an instance is the name of its node.
func (s *source) Find(ctx context.Context, nodes []common.NodeRef) ([]common.Instance, error) {
	nodeNames := common.NamesOf(nodes)
	found, err := s.api.FindInstances(ctx, nodeNames)
	if err != nil {
		return nil, err
	}
	adopted, err := s.adopter.adopt(ctx, missing(nodeNames, found, func(i api.Instance) string { return i.Name }))
	if err != nil {
		return nil, err
	}
	return s.convert(append(found, adopted...))
}

// missing returns the keys without an instance.
func missing(keys []string, found []api.Instance, key func(api.Instance) string) []string {
	have := make(map[string]bool, len(found))
	for _, i := range found {
		have[key(i)] = true
	}
	var absent []string
	for _, k := range keys {
		if !have[k] {
			absent = append(absent, k)
		}
	}
	return absent
}

func (s *source) convert(found []api.Instance) ([]common.Instance, error) {
	out := make([]common.Instance, 0, len(found))
	for _, i := range found {
		providerID, err := s.adopter.ids.Format(i.Zone, i.ID)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "ListInstances",
				Err: fmt.Errorf("instance %q: %w", i.Name, err)}
		}
		out = append(out, common.Instance{
			ID:         i.ID,
			ProviderID: providerID,
			NodeName:   i.Name,
			Type:       i.Type,
			Zone:       i.Zone,
			Region:     s.region,
			State:      stateOf(i.State),
			Addresses:  addressesOf(i),
			Labels:     i.Labels,
		})
	}
	return out, nil
}

// stateOf maps the cloud's states. An unknown state counts as running, which never taints or deletes a node.
func stateOf(state string) common.State {
	switch state {
	case api.StateStopped:
		return common.Stopped
	case api.StatePending:
		return common.Pending
	default:
		return common.Running
	}
}

// addressesOf lists internal addresses first: the cluster uses the first of each type.
func addressesOf(i api.Instance) []v1.NodeAddress {
	var out []v1.NodeAddress
	for _, ip := range i.InternalAddresses {
		out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}
	for _, ip := range i.ExternalAddresses {
		out = append(out, v1.NodeAddress{Type: v1.NodeExternalIP, Address: ip})
	}
	return append(out, v1.NodeAddress{Type: v1.NodeHostName, Address: i.Name})
}
