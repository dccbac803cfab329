package nodes

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// TaintToBeDeleted is set by the cluster autoscaler on nodes that it is about to remove.
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// TrafficNodes returns the nodes that the framework passes to load balancers: those that stay, and are
// neither excluded by label nor about to be removed. The load balancer's health checks detect whether they
// are ready.
func TrafficNodes(list []*v1.Node) []*v1.Node {
	var eligible []*v1.Node
	for _, node := range list {
		leaving := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == TaintToBeDeleted })
		if node.DeletionTimestamp.IsZero() && !leaving && !isExcluded(node) {
			eligible = append(eligible, node)
		}
	}
	return eligible
}

// isExcluded reads the exclusion label as the framework does: any value but a false one excludes.
func isExcluded(node *v1.Node) bool {
	value, labelled := node.Labels[v1.LabelNodeExcludeBalancers]
	if !labelled {
		return false
	}
	exclude, err := strconv.ParseBool(value)
	return err != nil || exclude
}
