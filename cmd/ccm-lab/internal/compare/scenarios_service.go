package compare

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// declaresBalancers returns that load balancers are not applicable for providers without them.
func declaresBalancers(d provider.Descriptor) report.Verdict {
	if d.Capabilities.LoadBalancer {
		return ""
	}
	return report.NotApplicable
}

func serviceScenarios() []Scenario {
	return []Scenario{
		{
			ID: "service.tcp", Group: groupService, Title: "TCP",
			Detail: "A Service with a TCP port gets a load balancer with a listener, all nodes as members, and its address in " +
				"the status.",
			Declared: func(d provider.Descriptor) report.Verdict {
				if d.Capabilities.LoadBalancer {
					return report.Works
				}
				return report.NotApplicable
			},
			Run: spec{service: fixed()}.run,
		},
		{
			ID: "service.udp", Group: groupService, Title: "UDP", Detail: "A Service with a UDP port gets a UDP listener.",
			Declared: declaresBalancers,
			Run:      spec{service: fixed(ports(port("dns", v1.ProtocolUDP, 53)))}.run,
		},
	}
}
