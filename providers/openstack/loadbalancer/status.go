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
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
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
	options, _ := annotation.Read(in) // invalid annotations only affect the format
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
			// With VIP, nodes short-circuit traffic for the load balancer's address directly to a pod, which would
			// then miss the header that it expects.
			status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeProxy)})
		default:
			status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: ip, IPMode: ptr.To(v1.LoadBalancerIPModeVIP)})
		}
	}
	return status
}

// addresses returns the addresses of clients: the floating IP, if there is one and the Service is not internal, or else
// the VIP; and the additional VIPs. A floating IP that was created for the Service counts as long as it is attached:
// its removal may be held. Neutron attaches one of each external network. Of several, the requested one counts, or else
// the one that clients know already, or else the one that was created for the Service: a user may attach others.
func addresses(in intent.Service, have observe.Observed, internal bool) []string {
	lb := have.LoadBalancer
	primary := lb.VipAddress
	serving := slices.DeleteFunc(slices.Clone(have.FloatingIPs), func(f api.FloatingIP) bool {
		service, _, _ := names.ParseFloatingIPDescription(f.Description)
		serves := !internal || service == in.Namespace+"/"+in.Name
		return !serves || f.PortID == "" || f.PortID != lb.VipPortID
	})
	rank := func(f api.FloatingIP) int {
		service, _, _ := names.ParseFloatingIPDescription(f.Description)
		switch {
		case slices.Contains(in.StaticAddresses, f.FloatingIP):
			return 0
		case slices.Contains(have.Addresses, f.FloatingIP):
			return 1
		case service == in.Namespace+"/"+in.Name:
			return 2
		}
		return 3
	}
	sorting.StableFunc(serving, func(a, b api.FloatingIP) int { return rank(a) - rank(b) })
	if len(serving) > 0 {
		primary = serving[0].FloatingIP
	}
	ips := []string{primary}
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

// annotations returns the annotations that Status sets on the Service: the ID, which identifies the load
// balancer even if its name differs from the one that the Service would give it, the address of clients, and
// checksums of the members, which save the next manager reads. Other managers write the first two as well;
// the checksums are written after the first change by this manager.
func (c *Cloud) annotations(in intent.Service, have observe.Observed) map[string]string {
	if have.LoadBalancer == nil {
		return nil
	}
	options, _ := annotation.Read(in)
	internal := c.settings.Internal || options.Internal != nil && *options.Internal
	annotations := map[string]string{annotation.KeyLoadBalancerID: have.LoadBalancer.ID}
	if ips := addresses(in, have, internal); len(ips) > 0 {
		annotations[annotation.KeyLoadBalancerAddress] = ips[0]
	}
	_, hasChecksums := in.Annotations[annotation.KeyMembers]
	hasChecksums = hasChecksums || !model.StoredRecord(*have.LoadBalancer).IsZero()
	if checksums, ok := observe.EncodeChecksums(have.Pools); ok && hasChecksums {
		annotations[annotation.KeyMembers] = checksums
	}
	if in.Annotations[annotation.KeyFailoverRefused] != "" && have.LoadBalancer.ProvisioningStatus != api.Error {
		annotations[annotation.KeyFailoverRefused] = "" // the next failure is another one
	}
	if have.FailoverRefused && have.LoadBalancer.ProvisioningStatus == api.Error {
		annotations[annotation.KeyFailoverRefused] = have.LoadBalancer.ID
	}
	return annotations
}
