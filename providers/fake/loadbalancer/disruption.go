package loadbalancer

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// The disruptive changes.
var (
	deletesListener = plan.Effect{
		Change:   "a listener is deleted, with its pool",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{{Name: "ports", Fields: []string{intent.FieldPorts}}},
	}
	closesListener = plan.Effect{
		Change:   "source ranges are set or changed",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{intent.SourceRanges()},
	}
	losesAddress = plan.Effect{
		Change:   "an address leaves the load balancer",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{addressFields()},
	}
	releasesAddress = plan.Effect{
		Change:   "an address is released while it is in use",
		Disrupts: plan.DisruptsAddress,
		Causes:   []plan.FieldSet{addressFields(), {Name: "scheme", Fields: []string{intent.KeyScheme}}},
	}
	replacesLoadBalancer = plan.Effect{
		Change:   "the load balancer is replaced",
		Disrupts: plan.DisruptsLoadBalancer, Causes: []plan.FieldSet{placeFields()},
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListener, closesListener, losesAddress, releasesAddress, replacesLoadBalancer}
}

// placeFields are the fields of a Service that no load balancer can change in place.
func placeFields() plan.FieldSet {
	return plan.FieldSet{Name: "place of the load balancer", Fields: []string{intent.KeyScheme, intent.FieldIPFamilies}}
}

// addressFields are the fields of a Service that determine its addresses.
func addressFields() plan.FieldSet {
	return plan.FieldSet{Name: "addresses", Fields: []string{
		intent.KeyStaticAddresses, intent.FieldLoadBalancerIP, intent.FieldIPFamilies,
	}}
}
