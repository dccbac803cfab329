package instances

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// initializedInstances returns the IDs of the instances of initialized Nodes. Nodes get their labels when they
// are initialized and never later, so that a restart reads nothing for labels.
func (s *Source) initializedInstances() map[string]bool {
	lister := s.nodes.Lister()
	if lister == nil {
		return nil
	}
	list, err := lister.List(labels.Everything())
	if err != nil {
		return nil
	}
	ids := make(map[string]bool, len(list))
	for _, node := range list {
		if nodes.Uninitialized(node) {
			continue
		}
		if id, err := s.ids.Parse(node.Spec.ProviderID); err == nil {
			ids[id] = true
		}
	}
	return ids
}
