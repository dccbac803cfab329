package instances

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// InstanceIDForNode returns the ID of a node's instance. It returns cloudprovider.InstanceNotFound if the
// instance does not exist, and a *ForeignIDError for a node of another cloud.
func (i *Instances) InstanceIDForNode(ctx context.Context, nodeName string) (string, error) {
	node := &v1.Node{}
	node.Name = nodeName
	if lister := i.options.Nodes.Lister(); lister != nil {
		listed, err := lister.Get(nodeName)
		switch {
		case err == nil:
			node = listed
		case !apierrors.IsNotFound(err):
			return "", err
		}
	}
	in, found, err := i.lookupNode(ctx, node, SnapshotMaxAge, true)
	if err != nil {
		return "", err
	}
	if !found {
		return "", cloudprovider.InstanceNotFound
	}
	return in.ID, nil
}

// NodeNames returns the names of the Nodes with the provider ID of each instance, sorted, or else the node name that
// the cloud has. An instance that does not exist is absent from the result. One that cannot be read keeps its Nodes; if
// it has none, NodeNames returns the error, which says nothing about any of them.
func (i *Instances) NodeNames(ctx context.Context, ids []string) (map[string][]string, error) {
	byNodes, err := i.namesByProviderID()
	if err != nil {
		return nil, err
	}
	names := make(map[string][]string, len(ids))
	var mu sync.Mutex
	var group panics.Group
	var firstErr error
	for _, id := range ids {
		// Concurrent lookups share bulk calls.
		group.Go(func() error {
			in, found, err := i.lookup(ctx, ref{id: id}, SnapshotMaxAge, true)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !found:
			case len(byNodes[id]) > 0 && ctx.Err() == nil:
				names[id] = byNodes[id]
			case err != nil:
				firstErr = err
			default:
				names[id] = []string{in.NodeName}
			}
			return nil
		})
	}
	_ = group.Wait()
	if firstErr != nil {
		return nil, firstErr
	}
	return names, nil
}

// namesByProviderID returns the sorted names of Nodes with a provider ID of this cloud, by instance ID.
func (i *Instances) namesByProviderID() (map[string][]string, error) {
	lister := i.options.Nodes.Lister()
	if lister == nil {
		return nil, nil
	}
	list, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	names := make(map[string][]string, len(list))
	for _, node := range list {
		if id, err := i.scheme.Parse(node.Spec.ProviderID); err == nil {
			names[id] = append(names[id], node.Name)
		}
	}
	for _, list := range names {
		slices.Sort(list)
	}
	return names, nil
}
