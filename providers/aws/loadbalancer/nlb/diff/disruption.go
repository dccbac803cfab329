package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// The fields of changes that disrupt.
const (
	fieldProtocol    = "protocol"
	fieldTargetGroup = "targetGroup"
	fieldPolicy      = "sslPolicy"
	fieldAddressType = "addressType"
	fieldSourceNAT   = "enablePrefixForIpv6SourceNat"
	// fieldSubnets begins the name of the field of each zone.
	fieldSubnets = "subnets"
)

// The disruptive changes of network load balancers.
var (
	deletesListener = plan.Effect{
		Change: "network: a listener is deleted", Disrupts: plan.DisruptsTraffic,
	}
	changesProtocol = plan.Effect{
		Change:   "network: the protocol of a listener changes, or it is replaced by one with another protocol",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldProtocol},
	}
	movesListener = plan.Effect{
		Change:   "network: a listener moves to another target group",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldTargetGroup},
	}
	switchesProxy = plan.Effect{
		Change:   "network: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Fields: []string{annotation.AttributeProxyProtocol},
	}
	changesPolicy = plan.Effect{
		Change:   "network: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicy},
	}
	movesAddress = plan.Effect{
		Change:   "network: other subnets or Elastic IPs",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldSubnets},
	}
	changesFamilies = plan.Effect{
		Change:   "network: IPv6 is added, or the addresses of IPv6 are removed",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldAddressType},
	}
)

// Effects returns the disruptive changes of network load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{
		deletesListener, changesProtocol, movesListener, switchesProxy, changesPolicy, movesAddress, changesFamilies,
	}
}
