package classic

import v1 "k8s.io/api/core/v1"

// Status is what the Service's status should say: the load balancer's host name, and nil while
// there is none. There is no IP mode, because nodes cannot short-cut traffic to a name.
func (c *Cloud) Status(have Observed) *v1.LoadBalancerStatus {
	if have.Balancer == nil {
		return nil
	}
	status := &v1.LoadBalancerStatus{}
	if have.Balancer.DNS != "" {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: have.Balancer.DNS}}
	}
	return status
}
