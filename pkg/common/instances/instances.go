package instances

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// Instances implements cloudprovider.InstancesV2 over a Source. It is safe for concurrent use.
//
// Every method preserves the class of the Source's error, and never interprets an error as "does not
// exist". A provider ID of another cloud is a *ForeignIDError, an invalid one a *MalformedIDError.
type Instances struct {
	options Options
	source  Source
	scheme  Scheme

	store  *snapshot.Store
	known  *snapshot.Table[Instance]
	policy *listPolicy
	get    *batch.Batcher[string, Instance]
	find   *batch.Batcher[NodeRef, Instance]
}

var (
	_ cloudprovider.InstancesV2 = (*Instances)(nil)
	_ provider.NodeOwner        = (*Instances)(nil)
)

// New returns Instances over source. It makes no call.
func New(o Options, source Source, scheme Scheme) *Instances {
	o = o.withDefaults()
	shared().set.Register()
	i := &Instances{options: o, source: source, scheme: scheme, store: snapshot.NewStore(o.Clock)}
	i.known = snapshot.NewTable(i.store, snapshot.Kind[Instance]{
		ID:    func(in Instance) string { return in.ID },
		List:  i.list,
		Index: indexKeys,
	})
	i.policy = &listPolicy{clock: o.Clock, store: i.store}
	i.get = batch.New(i.batchOptions("get"), i.getAll)
	i.find = batch.New(i.batchOptions("find"), i.findAll)
	return i
}

func (i *Instances) batchOptions(operation string) batch.Options {
	return batch.Options{
		Provider: i.options.Provider, Operation: operation, MaxSize: i.options.MaxBatch,
		// An API that rejects a request as invalid rejects one of its IDs.
		Split: func(err error) bool { return cloudapi.Is(err, cloudapi.Invalid) },
	}
}

// InstanceExists reports whether the node's instance exists. It returns false only after a read of that
// instance that started after the call.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, behind := i.policy.behind()
	_, found, err := i.ofNode(ctx, node, SnapshotMaxAge, behind)
	return found, err
}

// InstanceShutdown reports whether the node's instance is stopped. It returns
// cloudprovider.InstanceNotFound if the instance does not exist.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	_, behind := i.policy.behind()
	in, found, err := i.ofNode(ctx, node, SnapshotMaxAge, behind)
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
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	age := SnapshotMaxAge
	if nodes.Uninitialized(node) {
		age = JoinMaxAge
	}
	in, found, err := i.ofNode(ctx, node, age, true)
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
// instance does not exist.
func (i *Instances) NodeAddresses(ctx context.Context, node *v1.Node) ([]v1.NodeAddress, error) {
	in, found, err := i.ofNode(ctx, node, SnapshotMaxAge, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, cloudprovider.InstanceNotFound
	}
	if nodeIP, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		return cloudnodeutil.GetNodeAddressesFromNodeIP(nodeIP, in.Addresses)
	}
	return slices.Clone(in.Addresses), nil
}

// OwnsNode returns the ownership of a node by its provider ID. It does no I/O.
func (i *Instances) OwnsNode(node *v1.Node) provider.Ownership {
	if node.Spec.ProviderID == "" {
		return provider.Unknown
	}
	_, err := i.scheme.Parse(node.Spec.ProviderID)
	var foreign *ForeignIDError
	switch {
	case err == nil:
		return provider.Mine
	case errors.As(err, &foreign):
		return provider.Foreign
	default:
		return provider.Unknown
	}
}
