package aws

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// placed returns the IDs of the instances whose nodes have the labels of the network's topology. They
// are set once and never changed, so that a manager that starts need not ask for them again.
func (s *instanceSource) placed() map[string]bool {
	lister := s.nodes.Lister()
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
