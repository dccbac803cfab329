package guard

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// setInformer sets the informer, and counts its nodes by ownership.
func (n *nodeLister) setInformer(informer coreinformers.NodeInformer, s *shared) {
	n.Set(informer.Lister(), nil)
	count := func(obj any, delta float64) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		node, ok := obj.(*v1.Node)
		if !ok {
			return
		}
		process().nodes.WithLabelValues(s.provider, string(s.ownership(node))).Add(delta)
		if s.hasInvalidID(node) {
			process().invalidIDs.WithLabelValues(s.provider).Add(delta)
			if delta > 0 {
				s.reportInvalidID(node)
			}
		}
	}
	process().invalidIDs.WithLabelValues(s.provider)
	// A stopped informer accepts no handler; then there is nothing to count.
	_, _ = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { count(obj, 1) },
		UpdateFunc: func(before, after any) { count(before, -1); count(after, 1) },
		DeleteFunc: func(obj any) { count(obj, -1) },
	})
}

// hasInvalidID reports whether the node has a provider ID that nobody can read. It stays as it is: whose node it is
// cannot be known, and a provider ID never changes.
func (s *shared) hasInvalidID(node *v1.Node) bool {
	return node.Spec.ProviderID != "" && s.ownership(node) == provider.Unknown
}

func (s *shared) reportInvalidID(node *v1.Node) {
	s.events.sendNodeOnce(node, events.InvalidProviderID, fmt.Sprintf("The provider ID %q of this node cannot be read, "+
		"so that the node is not initialized, routed to, made a member or deleted. A provider ID never changes: correct "+
		"--provider-id of its kubelet, delete the node, and restart the kubelet.", node.Spec.ProviderID))
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
