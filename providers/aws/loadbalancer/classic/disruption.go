package classic

import (
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// The fields of changes that disrupt.
const (
	// fieldListener begins the name of the field of each port, fieldSubnets that of each zone.
	fieldListener = "listener"
	fieldSubnets  = "subnets"
	fieldPolicies = "policies"
)

// The disruptive changes of classic load balancers.
var (
	deletesListeners = plan.Effect{
		Change:   "classic: a listener is deleted, or replaced by one with another protocol or node port",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldListener},
	}
	switchesProxy = plan.Effect{
		Change:   "classic: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicies},
	}
	changesPolicy = plan.Effect{
		Change:   "classic: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicies},
	}
	movesSubnets = plan.Effect{
		Change:   "classic: the load balancer leaves a subnet, or gets one of another zone that its Service lists",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldSubnets},
	}
)

// Effects returns the disruptive changes of classic load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListeners, switchesProxy, changesPolicy, movesSubnets}
}

// listenerField is the name of the field of the listener of a port.
func listenerField(port int32) string { return fieldListener + " " + strconv.Itoa(int(port)) }
