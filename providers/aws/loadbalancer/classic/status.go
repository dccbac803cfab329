package classic

import v1 "k8s.io/api/core/v1"

// Status returns the Service's status: the load balancer's host name, and nil while there is none. There is
// no IP mode, because nodes cannot short-circuit traffic to a name.
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
