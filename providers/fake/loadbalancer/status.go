package loadbalancer

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Status implements loadbalancer.Cloud. Addresses are listed in the order of the Service's
// families, so that a client that takes the first gets the primary one.
func (c *Cloud) Status(in intent.Service, have Observed) lbcommon.Status {
	if have.LoadBalancer == nil {
		return lbcommon.Status{}
	}
	// With VIP, nodes short-circuit traffic for the load balancer's address directly to a pod. A pod that
	// expects the PROXY protocol would then miss its header: such traffic must pass through the load balancer.
	mode := v1.LoadBalancerIPModeVIP
	if in.ProxyProtocol != 0 {
		mode = v1.LoadBalancerIPModeProxy
	}
	ips := sorting.SortedFunc(slices.Values(have.LoadBalancer.Addresses), func(a, b string) int {
		return slices.Index(in.Families, familyOf(a)) - slices.Index(in.Families, familyOf(b))
	})
	status := &v1.LoadBalancerStatus{}
	for _, ip := range ips {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(mode)})
	}
	return lbcommon.Status{LoadBalancer: status}
}
