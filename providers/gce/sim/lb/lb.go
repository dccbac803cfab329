// Package lb has the simulated load balancers: forwarding rules, target pools, backend services and health checks.
package lb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// State has the load balancers, which are resources in the core's state.
type State struct {
	*vm.State

	// Unhealthy are the names of machines that fail their health checks.
	Unhealthy map[string]bool
}

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

const (
	protocolTCP = "TCP"

	// Schemes of load balancers.
	schemeExternal = "EXTERNAL"
	schemeInternal = "INTERNAL"
)
