package sim

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/octavia"
)

// Options of a cloud. The zero value is one region with two availability zones and a project that is
// ready for a cluster, without latency, limits, faults and settle times.
type Options = core.Options

// AccessRule allows the holder of an application credential to send requests to a service.
type AccessRule = core.AccessRule

// DefaultPassword is the password of the manager's user unless the options have another.
const DefaultPassword = core.DefaultPassword

// Names of quotas, as Neutron and Octavia call them.
const (
	QuotaPorts          = core.QuotaPorts
	QuotaFloatingIPs    = core.QuotaFloatingIPs
	QuotaGroups         = core.QuotaGroups
	QuotaRules          = core.QuotaRules
	QuotaRoutes         = core.QuotaRoutes
	QuotaLoadBalancers  = core.QuotaLoadBalancers
	QuotaListeners      = core.QuotaListeners
	QuotaPools          = core.QuotaPools
	QuotaMembers        = core.QuotaMembers
	QuotaHealthMonitors = core.QuotaHealthMonitors
)

type (
	// Outcome is how a change of a load balancer ends.
	Outcome = octavia.Outcome
	// OutcomeRule selects changes of load balancers and their outcome.
	OutcomeRule = octavia.OutcomeRule
)

// The closed set of outcomes.
const (
	OutcomeActive        = octavia.OutcomeActive
	OutcomeError         = octavia.OutcomeError
	OutcomeChildrenError = octavia.OutcomeChildrenError
	OutcomeStuck         = octavia.OutcomeStuck
	OutcomeChildrenStuck = octavia.OutcomeChildrenStuck
)
