package loadbalancer

import (
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
