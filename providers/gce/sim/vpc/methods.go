package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Methods returns all methods of the package, and those of the core.
func (s *State) Methods() []core.Method {
	networks := core.Collection[*Network]{State: s.State, Name: "networks", Scope: core.ScopeGlobal, Aggregated: "-"}
	subnetworks := core.Collection[*Subnetwork]{State: s.State, Name: "subnetworks", Scope: "regions",
		GetQuery: []string{"views"}}
	addresses := s.addresses()
	return slices.Concat(s.State.Methods(), networks.Methods(), subnetworks.Methods(), s.firewalls().Methods(),
		addresses.Methods(core.LabelVerb(addresses, func(a *Address) *core.Labels { return &a.Labels })))
}
