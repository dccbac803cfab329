// Package lb has the simulated load balancers: forwarding rules, target pools, backend services and health checks.
package lb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// NewState returns a state without load balancers.
func NewState(s *vm.State) *State {
	out := &State{State: s, Unhealthy: map[string]bool{}}
	s.Left = func(i *vm.Instance) {
		for _, p := range out.pools() {
			p.remove(i.SelfLink)
		}
	}
	return out
}

// Methods returns all methods of the package, and those of the ones below.
func (s *State) Methods() []core.Method {
	return slices.Concat(s.State.Methods(), s.ruleMethods(), s.poolMethods(), s.backendMethods(), s.checkMethods())
}

// backendMethods returns the methods of backend services. Global ones, those of other products, cannot be created.
func (s *State) backendMethods() []core.Method {
	regional := core.Collection[*Backends]{State: s.Core(), Service: "regionBackendServices", Name: "backendServices",
		Scope: "regions", Quota: core.QuotaBackendServices, Update: true, NeedsFingerprint: true, Aggregated: "-",
		Show: s.showBackends, Change: s.changeBackends,
		Insert: func(_ *core.Call, b *Backends) error { return s.checkBackends(b) }}
	global := core.Collection[*Backends]{State: s.Core(), Name: "backendServices", Scope: core.ScopeGlobal,
		Show: s.showBackends}
	return append(global.Methods(), regional.Methods(core.Reader(regional, "getHealth", "get", s.backendHealth))...)
}

func (s *State) checkMethods() []core.Method {
	legacy := core.Collection[*LegacyCheck]{State: s.Core(), Name: "httpHealthChecks", Scope: core.ScopeGlobal,
		Quota: core.QuotaHealthChecks, Update: true, Aggregated: "-",
		Insert: func(_ *core.Call, c *LegacyCheck) error { return c.Timing.check() },
		Change: func(_ *core.Call, _, c *LegacyCheck) error { return c.Timing.check() }}
	global := core.Collection[*Check]{State: s.Core(), Name: "healthChecks", Scope: core.ScopeGlobal,
		Quota: core.QuotaHealthChecks, Update: true, Aggregated: "compute#healthChecksAggregatedList",
		Insert: func(_ *core.Call, c *Check) error { return c.check() },
		Change: func(_ *core.Call, _, c *Check) error { return c.check() }}
	regional := global
	regional.Service, regional.Scope, regional.Aggregated = "regionHealthChecks", "regions", "-"
	return slices.Concat(legacy.Methods(), global.Methods(), regional.Methods())
}

func (s *State) poolMethods() []core.Method {
	pools := core.Collection[*Pool]{State: s.Core(), Name: "targetPools", Scope: "regions", Quota: core.QuotaTargetPools,
		Insert: insertPool}
	return pools.Methods(
		core.Verb(pools, "addInstance", "addInstance", s.addInstance),
		core.Verb(pools, "removeInstance", "removeInstance", s.removeInstance),
		core.Verb(pools, "addHealthCheck", "addHealthCheck", s.addHealthCheck),
		core.Verb(pools, "removeHealthCheck", "removeHealthCheck", s.removeHealthCheck),
		core.Reader(pools, "getHealth", "get", s.poolHealth))
}

func (s *State) ruleMethods() []core.Method {
	rules := s.ruleCollection()
	return rules.Methods(core.Verb(rules, "setTarget", "setTarget", s.setTarget),
		core.LabelVerb(rules, func(r *Rule) *core.Labels { return &r.Labels }))
}
