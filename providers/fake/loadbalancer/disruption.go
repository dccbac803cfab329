package loadbalancer

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// The fields of changes that disrupt, by the names of the API's fields.
const (
	fieldScheme       = "scheme"
	fieldFamilies     = "families"
	fieldAddresses    = "addressIDs"
	fieldSourceRanges = "sourceRanges"
)

// The disruptive changes.
var (
	deletesListener = plan.Effect{
		Change:   "a listener is deleted, with its pool",
		Disrupts: plan.DisruptsTraffic,
	}
	closesListener = plan.Effect{
		Change:   "source ranges are set or changed",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldSourceRanges},
	}
	losesAddress = plan.Effect{
		Change:   "an address leaves the load balancer",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldAddresses},
	}
	releasesAddress = plan.Effect{
		Change:   "an address is released while it is in use",
		Disrupts: plan.DisruptsAddress,
	}
	replacesLoadBalancer = plan.Effect{
		Change:   "the load balancer is replaced",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{fieldScheme, fieldFamilies},
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListener, closesListener, losesAddress, releasesAddress, replacesLoadBalancer}
}
