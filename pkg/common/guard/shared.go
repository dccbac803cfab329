package guard

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// shared is the state that all decorators of one provider use.
type shared struct {
	provider string
	owner    provider.NodeOwner
	events   *recorder
	nodes    *nodeLister
	observe  *observer
	clock    clock.Clock
}

// nodeLister lists the informer's Nodes once the framework has set the informer.
type nodeLister struct{ nodes.LazyLister }

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
