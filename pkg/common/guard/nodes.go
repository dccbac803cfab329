package guard

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// nodeLister lists the informer's Nodes once the framework has set the informer.
type nodeLister struct{ nodes.LazyLister }

// setInformer sets the informer, and counts its nodes by ownership.
func (n *nodeLister) setInformer(informer coreinformers.NodeInformer, s *shared) {
	n.Set(informer.Lister(), nil)
	count := func(obj any, delta float64) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if node, ok := obj.(*v1.Node); ok {
			process().nodes.WithLabelValues(s.provider, string(s.ownership(node))).Add(delta)
		}
	}
	// A stopped informer accepts no handler; then there is nothing to count.
	_, _ = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { count(obj, 1) },
		UpdateFunc: func(before, after any) { count(before, -1); count(after, 1) },
		DeleteFunc: func(obj any) { count(obj, -1) },
	})
}

// get returns the node, or nil if it does not exist; ok is false before the informer has synced.
func (n *nodeLister) get(name string) (node *v1.Node, ok bool, err error) {
	lister := n.Lister()
	if lister == nil {
		return nil, false, nil
	}
	node, err = lister.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	return node, true, err
}

// ownershipOf returns the ownership of the node of that name. It returns mine before the informer has synced,
// so that callers without informers (a plan made from files) are not refused.
func (s *shared) ownershipOf(name string) (provider.Ownership, error) {
	node, ok, err := s.nodes.get(name)
	switch {
	case err != nil:
		return provider.Unknown, err
	case !ok:
		return provider.Mine, nil
	case node == nil:
		return provider.Unknown, nil
	default:
		return s.ownership(node), nil
	}
}
