package loadbalancer

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"
)

// WantsLoadBalancer reports whether the framework's service controller keeps a load balancer for the Service: its type
// is LoadBalancer, it has no class of another controller, and it is not being deleted.
func WantsLoadBalancer(s *v1.Service) bool {
	return s.Spec.Type == v1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp.IsZero()
}

// IsReconciled reports whether the framework's service controller works on the Service: it keeps a load balancer for
// it, or deletes the one that its finalizer stands for. It leaves a Service with a class to another controller, even if
// that controller uses the same finalizer, until the Service is deleted.
func IsReconciled(s *v1.Service) bool {
	return WantsLoadBalancer(s) || servicehelper.HasLBFinalizer(s) &&
		(s.Spec.Type != v1.ServiceTypeLoadBalancer || !s.DeletionTimestamp.IsZero())
}

// TaintToBeDeleted is set by the cluster autoscaler on nodes that it is about to remove.
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// TrafficNodes returns the nodes that the framework passes to load balancers: those that stay, and are
// neither excluded by label nor about to be removed. The load balancer's health checks detect whether they
// are ready.
func TrafficNodes(nodes []*v1.Node) []*v1.Node {
	var eligible []*v1.Node
	for _, node := range nodes {
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
