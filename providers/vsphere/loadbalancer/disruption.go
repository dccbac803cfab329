package loadbalancer

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
)

// The disruptive changes.
var (
	deletesServer = plan.Effect{
		Change:   "a virtual server is deleted",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{{Name: "ports", Fields: []string{intent.FieldPorts}}},
	}
	closesServer = plan.Effect{
		Change:   "a virtual server gets source ranges, or other ones",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{intent.SourceRanges()},
	}
	changesProfile = plan.Effect{
		Change:   "a virtual server gets another application profile",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{addressFields()},
	}
	movesAddress = plan.Effect{
		Change:   "the load balancer gets another address",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{addressFields()},
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{deletesServer, closesServer, changesProfile, movesAddress}
}

// addressFields returns the fields that determine the address.
func addressFields() plan.FieldSet {
	return plan.FieldSet{Name: "class and addresses", Fields: []string{
		annotation.KeyClass, intent.KeyScheme, intent.KeyStaticAddresses, intent.FieldLoadBalancerIP,
	}}
}
