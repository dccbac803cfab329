package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// The fields of changes that disrupt, by their names in the API.
const (
	fieldProtocol    = "protocol"
	fieldTargetGroup = "targetGroup"
	fieldPolicy      = "sslPolicy"
	// fieldSubnets is followed by the zone.
	fieldSubnets     = "subnets"
	fieldAddressType = "addressType"
	fieldSourceNAT   = "enablePrefixForIpv6SourceNat"
	fieldProxy       = annotation.AttributeProxyProtocol
)

// The disruptive changes of network load balancers.
var (
	deletesListener = plan.Effect{
		Change:   "network: a listener is deleted",
		Disrupts: plan.DisruptsTraffic,
	}
	movesListener = plan.Effect{
		Change:   "network: a listener gets another protocol, or moves to another target group",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldProtocol, fieldTargetGroup},
	}
	switchesProxy = plan.Effect{
		Change:   "network: the PROXY protocol is turned on or off",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldProxy},
	}
	changesPolicy = plan.Effect{
		Change:   "network: a listener gets another TLS policy",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldPolicy},
	}
	movesAddress = plan.Effect{
		Change:   "network: other subnets or Elastic IPs, or IPv6 is added or removed",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldSubnets, fieldAddressType, fieldSourceNAT},
	}
)

// Effects returns the disruptive changes of network load balancers.
func Effects() []plan.Effect {
	return []plan.Effect{deletesListener, movesListener, switchesProxy, changesPolicy, movesAddress}
}
