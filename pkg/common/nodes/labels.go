package nodes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// FilterByLabels returns the nodes that have all the labels; a label with an empty value only has to be present.
func FilterByLabels(list []*v1.Node, labels map[string]string) []*v1.Node {
	if len(labels) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(n *v1.Node) bool { return !hasLabels(n, labels) })
}

func hasLabels(node *v1.Node, labels map[string]string) bool {
	for key, want := range labels {
		if have, ok := node.Labels[key]; !ok || want != "" && have != want {
			return false
		}
	}
	return true
}
