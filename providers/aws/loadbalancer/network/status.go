package network

import (
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
)

// Status is the load balancer's hostname, as soon as AWS gives it one. A load balancer that is
// impaired still serves; only one that failed has no address. Nil while there is none.
func Status(have Observed) *v1.LoadBalancerStatus {
	b := have.Balancer
	if b == nil {
		return nil
	}
	status := &v1.LoadBalancerStatus{}
	if b.DNSName != "" && b.State != string(types.LoadBalancerStateEnumFailed) {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: b.DNSName}}
	}
	return status
}
