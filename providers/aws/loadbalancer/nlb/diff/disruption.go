package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// The disruptive changes of network load balancers.
var (
	deletesListener = plan.Effect{
		Change:   "network: a listener is deleted, or replaced by one with another protocol",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.Listeners()},
	}
	movesListener = plan.Effect{
		Change:   "network: a listener moves to another target group, or its protocol changes between TCP and TLS",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.Listeners(), annotation.TargetGroups()},
	}
	switchesProxy = plan.Effect{
		Change:   "network: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.ProxyProtocol()},
	}
	changesPolicy = plan.Effect{
		Change:   "network: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Causes: []plan.FieldSet{annotation.TLSPolicy(), annotation.Certificates()},
	}
	movesAddress = plan.Effect{
		Change:   "network: other subnets or Elastic IPs, or IPv6 is added",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{annotation.Zones(), annotation.Ports()},
	}
	losesIPv6 = plan.Effect{
		Change:   "network: the addresses of IPv6 are removed",
		Disrupts: plan.DisruptsAddress, Causes: []plan.FieldSet{annotation.Zones()},
	}
)

// Effects returns the disruptive changes of network load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListener, movesListener, switchesProxy, changesPolicy, movesAddress, losesIPv6}
}
