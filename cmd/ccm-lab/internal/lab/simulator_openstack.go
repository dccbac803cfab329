package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	openstacksim "github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/realservices"
)

// settleTime is the duration of a change of a load balancer in a lab: about that of amphora.
const settleTime = 500 * time.Millisecond

const (
	// PhaseAddNodeFew is PhaseAddNode with FewServices, instead of all Services of the benchmark.
	PhaseAddNodeFew = "add-node-few"
	// FewServices is the number of Services that the target of PhaseAddNodeFew is set for.
	FewServices = 50
)

// openStackBudgets are the targets that the provider's tests assert too, for Services of two ports.
func openStackBudgets(nodes, services int) map[string]Budget {
	// Nova and Neutron answer with up to 1,000 objects at a time.
	pages := (nodes + 999) / 1000
	return map[string]Budget{
		PhaseRefresh:    {Calls: 6 * pages},
		PhaseSilent:     {Calls: 15, ReadOnly: true},
		PhaseCreateOne:  {Calls: 7, Seconds: 0.5},
		PhaseCreateSlow: {Calls: 31, Seconds: (SlowSettle + 2500*time.Millisecond).Seconds()},
		PhaseCreateMany: {Calls: 200, Seconds: (SlowSettle + 5*time.Second).Seconds()},
		// The updates of two pools for each Service, and the reads that identify them.
		PhaseAddNodeFew: {Calls: 2*FewServices + 20, Seconds: 10},
		PhaseAddNode:    {Calls: 2*services + 20, Seconds: 10},
		// The members of two pools for each, because no list includes them.
		PhaseRestart:      {Calls: 2*services + 20, ReadOnly: true},
		PhaseRestartAgain: {Calls: 20, ReadOnly: true},
		PhaseRoutes:       {Calls: RoutedNodes + 10},
		// The limit is 300 calls a day. A read of the routes, at most one a minute, is one call.
		PhaseIdle: {Calls: 1, ReadOnly: true},
	}
}

// newOpenStack has no data plane and no state file: these options have no effect.
func newOpenStack(o SimulatorOptions) (conformance.World, func() error, error) {
	if o.Services != "" {
		return newOpenStackProject(o)
	}
	options := openstacksim.Options{
		Latency: o.Latency, ProvisionTime: o.ProvisionTime, Seed: o.Seed, ErrorRate: o.ErrorRate, IPv6: o.IPv6,
	}
	if o.LoadBalancers > 0 {
		options.Public = largePool
	}
	if o.ProvisionTime > 0 {
		options.SettleTime = min(settleTime, o.ProvisionTime)
	}
	cloud, err := openstacksim.New(options)
	if err != nil {
		return nil, nil, err
	}
	return cloud, func() error { return nil }, nil
}

// projectTimeout is the timeout for creating a project on real services.
const projectTimeout = 15 * time.Minute

// spareServers is the number of machines that most scenarios launch.
const spareServers = 3

// newOpenStackProject creates its own project on real services, so that several can run concurrently.
func newOpenStackProject(o SimulatorOptions) (conformance.World, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), projectTimeout)
	defer cancel()
	cloud, err := realservices.New(ctx, realservices.Options{
		Dir: o.Services, Spares: spareServers, IPv6: o.IPv6, Latency: o.Latency, Seed: o.Seed,
		ErrorRate: o.ErrorRate,
	})
	if err != nil {
		return nil, nil, err
	}
	return cloud, cloud.Close, nil
}

// openStackConfig contains the application credential of the cluster's project. The cloud issues the tokens
// itself, so that the caller's token has no effect.
func openStackConfig(endpoint string, world conformance.World, _ SimulatorOptions) string {
	if project, ok := world.(*realservices.Cloud); ok {
		return project.CloudConfig(endpoint)
	}
	cloud, ok := world.(*openstacksim.Cloud)
	if !ok {
		return ""
	}
	a, places := cloud.Account(), cloud.Places()
	return fmt.Sprintf(`[Global]
auth-url = %s/identity/v3
application-credential-id = %s
application-credential-secret = %s
region = %s

[LoadBalancer]
subnet-id = %s
floating-network-id = %s
create-monitor = true

[Route]
router-id = %s
`, endpoint, a.ApplicationCredentialID, a.ApplicationCredentialSecret, a.Region, places.PrivateSubnet, places.PublicNetwork, places.Router)
}
