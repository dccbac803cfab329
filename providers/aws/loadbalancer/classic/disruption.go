package classic

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// The fields of changes that disrupt. Items of the first two are differences of their own.
const (
	fieldListeners = "listeners"
	fieldSubnets   = "subnets"
	fieldPolicies  = "policies"
)

// The disruptive changes of classic load balancers.
var (
	deletesListeners = plan.Effect{
		Change:   "classic: a listener is deleted, or replaced by one with another protocol or node port",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldListeners},
	}
	switchesProxy = plan.Effect{
		Change:   "classic: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicies},
	}
	changesPolicy = plan.Effect{
		Change:   "classic: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicies},
	}
	leavesSubnets = plan.Effect{
		Change:   "classic: the load balancer leaves a subnet",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldSubnets},
	}
)

// Effects returns the disruptive changes of classic load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListeners, switchesProxy, changesPolicy, leavesSubnets}
}
