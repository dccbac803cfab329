// Package handover decides whose load balancers this manager makes: ingress-gce makes those of some Services.
package handover

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// The finalizers of load balancers. Those of version 1 are of this manager, and ingress-gce leaves their Services
// alone.
const (
	FinalizerExternal   = "gke.networking.io/l4-netlb-v1"
	FinalizerInternal   = "gke.networking.io/l4-ilb-v1"
	FinalizerExternalV2 = "gke.networking.io/l4-netlb-v2"
	FinalizerExternalV3 = "gke.networking.io/l4-netlb-v3"
	FinalizerInternalV2 = "gke.networking.io/l4-ilb-v2"
)

// Owns reports whether a finalizer is of this manager.
func Owns(finalizer string) bool {
	return finalizer == FinalizerExternal || finalizer == FinalizerInternal
}

// Handles reports whether this manager makes the load balancer of a Service. It does for those that have its
// finalizers. Subsets is set if ingress-gce makes new internal ones.
func Handles(service *v1.Service, subsets bool) bool {
	if service.Spec.LoadBalancerClass != nil {
		return false
	}
	if isInternal(service) {
		return has(service, FinalizerInternal) || !subsets && !has(service, FinalizerInternalV2)
	}
	byIngress := service.Annotations[annotation.KeyRBS] == annotation.Enabled || has(service, FinalizerExternalV2) ||
		has(service, FinalizerExternalV3)
	return has(service, FinalizerExternal) || !byIngress
}

// Leaves reports whether a Service has a load balancer of this manager of the scheme that it had before, while
// ingress-gce makes that of its present one. ingress-gce waits until the finalizer of the former is gone.
func Leaves(service *v1.Service, subsets bool) bool {
	former := FinalizerInternal
	if isInternal(service) {
		former = FinalizerExternal
	}
	return service.Spec.LoadBalancerClass == nil && !Handles(service, subsets) && has(service, former)
}

func has(service *v1.Service, finalizer string) bool {
	return slices.Contains(service.Finalizers, finalizer)
}

func isInternal(service *v1.Service) bool {
	value, ok := service.Annotations[annotation.KeyType]
	if !ok {
		value = service.Annotations[annotation.KeyOldType]
	}
	return annotation.IsInternal(value) || service.Annotations[intent.KeyScheme] == string(intent.Internal)
}
