package classic

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// The disruptive changes of classic load balancers.
var (
	deletesListeners = plan.Effect{
		Change:   "classic: a listener is deleted, or replaced by one with another protocol or node port",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.Listeners()},
	}
	switchesProxy = plan.Effect{
		Change:   "classic: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.ProxyProtocol()},
	}
	changesPolicy = plan.Effect{
		Change:   "classic: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.TLSPolicy()},
	}
	leavesSubnets = plan.Effect{
		Change:   "classic: the load balancer leaves a subnet",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{annotation.Zones()},
	}
)

// Effects returns the disruptive changes of classic load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListeners, switchesProxy, changesPolicy, leavesSubnets}
}
