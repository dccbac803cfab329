package instances

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
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
