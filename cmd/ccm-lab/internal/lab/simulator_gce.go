package lab

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	gcesim "github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// gceBudgets are the targets that the provider's tests assert too, for external load balancers of two ports. Calls that
// wait for operations are among them: one for each change that has not ended with its response.
func gceBudgets(nodes, services int) map[string]Budget {
	const (
		// writes are those of a pool, a forwarding rule with the read of its address, and a firewall, each with a wait.
		writes = 2*3 + 1
		// lists are those of forwarding rules, firewalls, addresses, pools and health checks.
		lists = 5
	)
	pages := (nodes + 499) / 500
	// All kinds of a Service are read before its deletion: also backend services, health checks and groups.
	all := lists + 3
	return map[string]Budget{
		PhaseJoin:      {Calls: 12 * pages},
		PhaseRefresh:   {Calls: 2 * pages, ReadOnly: true},
		PhaseSilent:    {Calls: 12 * pages, ReadOnly: true},
		PhaseCreateAll: {Calls: (writes+2*lists)*services + 20},
		PhaseCreateOne: {Calls: writes + 2*lists},
		PhaseDeleteOne: {Calls: writes + 2*all},
		PhaseDeleteAll: {Calls: (writes+2*all)*services + 20},
		// A pool for each Service.
		PhaseAddNode:      {Calls: 2*services + lists + 2*pages + 20},
		PhaseRestart:      {Calls: 40, ReadOnly: true},
		PhaseRestartAgain: {Calls: 40, ReadOnly: true},
		PhaseIdle:         {Calls: 2, ReadOnly: true},
	}
}

// gceBalancers returns external load balancers, which a Service without annotations gets.
func gceBalancers() []BalancerKind {
	const ports = "a forwarding rule gets no port beside those that are held, because it is replaced for each other range"
	return []BalancerKind{{Unsupported: map[string]string{
		"UDP and TCP on one port":         "a forwarding rule has one protocol, and the Service is refused",
		"source ranges of ports":          "a load balancer has one firewall, with the same sources for all ports",
		"held changes":                    ports,
		"edit beside a held change":       ports,
		"hand-made change beside an edit": ports,
		"restored cluster": "only the status of the Service shows what was applied, so that what it lacks counts as " +
			"changed by hand",
	}}}
}

// newGCE has no data plane and no state file: these options have no effect.
func newGCE(o SimulatorOptions) (conformance.World, func() error, error) {
	options := gcesim.Options{Latency: o.Latency, Seed: o.Seed, ErrorRate: o.ErrorRate, SettleTime: o.ProvisionTime,
		IPv6: o.IPv6, Pods: o.Pods}
	if o.LoadBalancers > 0 {
		options.Public = largePool
	}
	cloud, err := gcesim.New(options)
	if err != nil {
		return nil, nil, err
	}
	return cloud, func() error { return nil }, nil
}

func gceConfig(endpoint string, world conformance.World, _ SimulatorOptions) string {
	cloud, ok := world.(*gcesim.Cloud)
	if !ok {
		return ""
	}
	return cloud.CloudConfig(endpoint)
}
