package aws

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// nodeLister holds the informer's Nodes, once they are lent. It is safe for concurrent use.
type nodeLister struct {
	mu     sync.RWMutex
	lister corelisters.NodeLister
}

func (n *nodeLister) set(lister corelisters.NodeLister) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lister = lister
}

func (n *nodeLister) get() corelisters.NodeLister {
	if n == nil {
		return nil
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.lister
}

// placed returns the IDs of the instances whose nodes have the labels of the network's topology. They
// are set once and never changed, so that a manager that starts need not ask for them again.
func (s *instanceSource) placed() map[string]bool {
	lister := s.nodes.get()
	if lister == nil {
		return nil
	}
	list, err := lister.List(labels.Everything())
	if err != nil {
		return nil
	}
	ids := map[string]bool{}
	for _, node := range list {
		if _, ok := node.Labels[names.NetworkNodeLabelPrefix+"1"]; !ok {
			continue
		}
		if id, err := s.ids.Parse(node.Spec.ProviderID); err == nil {
			ids[id] = true
		}
	}
	return ids
}
