package loadbalancer

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Status implements loadbalancer.Cloud. Addresses are listed in the order of the Service's families,
// so that a client that takes the first gets the primary one.
func (c *Cloud) Status(in intent.Service, have observe.Observed) lbcommon.Status {
	return lbcommon.Status{LoadBalancer: c.status(in, have), Annotations: c.annotations(in, have)}
}

func (c *Cloud) status(in intent.Service, have observe.Observed) *v1.LoadBalancerStatus {
	if have.LoadBalancer == nil || have.LoadBalancer.ProvisioningStatus == api.PendingDelete {
		return nil
	}
	options, _ := annotation.Read(in) // annotations that cannot be read matter for the form only
	if options.Hostname != "" {
		return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: options.Hostname}}}
	}
	internal := c.settings.Internal || options.Internal != nil && *options.Internal
	status := &v1.LoadBalancerStatus{}
	for _, ip := range addresses(in, have, internal) {
		switch {
		case options.ProxyProtocol != 0 && c.settings.IngressHostname:
			status.Ingress = append(status.Ingress,
				v1.LoadBalancerIngress{Hostname: ip + "." + c.settings.IngressHostnameSuffix})
		case options.ProxyProtocol != 0:
			// With VIP, nodes short-cut traffic to the load balancer's address straight to a pod, which
			// would then miss the header that it expects.
			status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeProxy)})
		default:
			status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeVIP)})
		}
	}
	return status
}

// addresses are where clients reach the load balancer: its floating IP where it has one and the
// Service is not internal, else its own address; and the other addresses that it has.
func addresses(in intent.Service, have observe.Observed, internal bool) []string {
	lb := have.LoadBalancer
	main := lb.VipAddress
	for _, f := range have.FloatingIPs {
		if !internal && f.PortID != "" && f.PortID == lb.VipPortID {
			main = f.FloatingIP
			break
		}
	}
	ips := []string{main}
	for _, vip := range lb.AdditionalVips {
		if slices.Contains(in.Families, model.FamilyOf(vip.IPAddress)) {
			ips = append(ips, vip.IPAddress)
		}
	}
	ips = slices.DeleteFunc(ips, func(ip string) bool { return ip == "" })
	sorting.StableFunc(ips, func(a, b string) int {
		return slices.Index(in.Families, model.FamilyOf(a)) - slices.Index(in.Families, model.FamilyOf(b))
	})
	return ips
}
