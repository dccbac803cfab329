package aws

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// initialised returns the IDs of the instances whose nodes have been initialised. They got their labels
// then, and are given none afterwards, so that a manager that starts need not read anything for labels.
func (s *instanceSource) initialised() map[string]bool {
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
