package loadbalancer

import (
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

// Finalizers implements loadbalancer.FinalizerKeeper: by them, ingress-gce leaves a Service alone. While its scheme
// changes, a Service has both, until the last object of the earlier load balancer is deleted. One whose forwarding rule
// another controller has made has none.
func (c *Cloud) Finalizers(want *model.Desired, have Observed) []string {
	if have.Elsewhere != nil {
		return nil
	}
	external := have.isExternal() || have.Pool != nil
	internal := have.Rule != nil && have.Rule.Scheme == api.SchemeInternal || have.Backend != nil
	if want != nil {
		external, internal = external || !want.Internal, internal || want.Internal
	}
	var out []string
	if external {
		out = append(out, handover.FinalizerExternal)
	}
	if internal {
		out = append(out, handover.FinalizerInternal)
	}
	return out
}

// OwnsFinalizer implements loadbalancer.FinalizerKeeper.
func (c *Cloud) OwnsFinalizer(name string) bool {
	return handover.Owns(name)
}
