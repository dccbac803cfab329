package kinds

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// FieldRule is a rule of a security group.
const FieldRule = "rule"

// The disruptive changes that do not follow from the rows of a kind.
var (
	ClosesNodePort = plan.Effect{
		Change:   "a rule of the managed security group that lets traffic reach nodes is removed",
		Disrupts: plan.DisruptsTraffic, Fields: []string{FieldRule},
	}
	ProbesGuest = plan.Effect{
		Change: "the pool of a guest on a shared load balancer gets its first health monitor, because of " +
			"`externalTrafficPolicy: Local` alone",
		Disrupts: plan.DisruptsTraffic, Fields: []string{FieldMonitorType},
	}
	MovesFloatingIP = plan.Effect{
		Change: "a floating IP is released, detached or exchanged", Disrupts: plan.DisruptsAddress,
		Fields: []string{"floating_ip_address"},
	}
	FailsOver = plan.Effect{
		Change:   "the failover of a load balancer that worked and is in ERROR; its other changes wait for it",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"provisioning_status"},
	}
	ReplacesFailed = plan.Effect{
		Change:   "its replacement, with its address if that is still free, if Octavia refuses the failover",
		Disrupts: plan.DisruptsLoadBalancer, Fields: []string{"id"},
	}
)
