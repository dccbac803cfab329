package aws

import (
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// SetNodeLister lends the informer's Nodes, so that a manager that starts does not ask for the
// topology of instances whose nodes have its labels: those are set once and never changed.
func (s *instanceSource) SetNodeLister(lister corelisters.NodeLister) {
	s.topology.mu.Lock()
	defer s.topology.mu.Unlock()
	s.topology.labelled = func() map[string]bool {
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
}
