package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
)

// fieldRule is a rule of a security group.
const fieldRule = "rule"

// The disruptive changes that do not follow from the rows of a kind.
var (
	closesNodePort = plan.Effect{
		Change:   "a rule of the managed security group that lets traffic reach nodes is removed",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldRule},
	}
	probesGuest = plan.Effect{
		Change: "the pool of a guest on a shared load balancer gets its first health monitor, because of " +
			"`externalTrafficPolicy: Local` alone",
		Disrupts: plan.DisruptsTraffic, Fields: []string{kinds.FieldMonitorType},
	}
	movesFloatingIP = plan.Effect{
		Change: "a floating IP is released, detached or exchanged", Disrupts: plan.DisruptsAddress,
		Fields: []string{"floating_ip_address"},
	}
	failsOver = plan.Effect{
		Change:   "the failover of a load balancer that worked and is in ERROR; its other changes wait for it",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"provisioning_status"},
	}
	replacesFailed = plan.Effect{
		Change:   "its replacement, with its address if that is still free, if Octavia refuses the failover",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"id"},
	}
)
