package model

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
)

// Status returns the load balancer's hostname, as soon as AWS assigns it. An impaired load balancer still
// serves; only a failed one has no address. Nil while there is none.
func Status(have Observed) *v1.LoadBalancerStatus {
	b := have.Balancer
	if b == nil {
		return nil
	}
	status := &v1.LoadBalancerStatus{}
	if b.DNSName != "" && Failure(have) == "" {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: b.DNSName}}
	}
	return status
}

// Failure returns why a load balancer never gets an address, and how to fix it. It is empty for one that is
// being provisioned, or is impaired and still serves.
func Failure(have Observed) string {
	b := have.Balancer
	if b == nil || b.State != string(types.LoadBalancerStateEnumFailed) {
		return ""
	}
	return fmt.Sprintf("has no address, because AWS could not set it up (%s): delete the Service and create it again",
		cmp.Or(b.Reason, "AWS gives no reason"))
}
