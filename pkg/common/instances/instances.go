package instances

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// Instances implements cloudprovider.InstancesV2 over a Source. It is safe for concurrent use.
//
// Every method preserves the class of the Source's error, and never interprets an error as "does not
// exist". A provider ID of another cloud is a *ForeignIDError, an invalid one a *MalformedIDError.
type Instances struct {
	instancesV2

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
	i.instancesV2 = instancesV2{i}
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
