package loadbalancer

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
	finalizerExternalV2 = "gke.networking.io/l4-netlb-v2"
	finalizerExternalV3 = "gke.networking.io/l4-netlb-v3"
	finalizerInternalV2 = "gke.networking.io/l4-ilb-v2"
)

// handles reports whether this manager makes the load balancer of a Service. It does for those that have its
// finalizers.
func handles(service *v1.Service, subsets bool) bool {
	has := func(name string) bool { return slices.Contains(service.Finalizers, name) }
	if class := service.Spec.LoadBalancerClass; class != nil {
		return false
	}
	value, ok := service.Annotations[annotation.KeyType]
	if !ok {
		value = service.Annotations[annotation.KeyOldType]
	}
	if annotation.IsInternal(value) || service.Annotations[intent.KeyScheme] == string(intent.Internal) {
		return has(FinalizerInternal) || !subsets && !has(finalizerInternalV2)
	}
	byIngress := service.Annotations[annotation.KeyRBS] == annotation.Enabled || has(finalizerExternalV2) ||
		has(finalizerExternalV3)
	return has(FinalizerExternal) || !byIngress
}
