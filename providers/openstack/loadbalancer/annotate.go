package loadbalancer

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// annotations returns the annotations that Status sets on the Service: the ID, which identifies the load
// balancer even if its name differs from the one that the Service would give it, the address of clients, and
// checksums of the members, which save the next manager reads. Other managers write the first two as well;
// the checksums are written after the first change of ours.
func (c *Cloud) annotations(in intent.Service, have observe.Observed) map[string]string {
	if have.LoadBalancer == nil {
		return nil
	}
	options, _ := annotation.Read(in)
	internal := c.settings.Internal || options.Internal != nil && *options.Internal
	notes := map[string]string{annotation.KeyLoadBalancerID: have.LoadBalancer.ID}
	if ips := addresses(in, have, internal); len(ips) > 0 {
		notes[annotation.KeyLoadBalancerAddress] = ips[0]
	}
	_, noted := in.Annotations[annotation.KeyMembers]
	if text, ok := observe.EncodeChecksums(have.Pools); ok && (noted || !storedRecord(*have.LoadBalancer).IsZero()) {
		notes[annotation.KeyMembers] = text
	}
	if in.Annotations[annotation.KeyFailoverRefused] != "" && have.LoadBalancer.ProvisioningStatus != api.Error {
		notes[annotation.KeyFailoverRefused] = "" // the next failure is another one
	}
	if have.FailoverRefused && have.LoadBalancer.ProvisioningStatus == api.Error {
		notes[annotation.KeyFailoverRefused] = have.LoadBalancer.ID
	}
	return notes
}
