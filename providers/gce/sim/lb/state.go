package lb

import (
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// State has the load balancers, which are resources in the core's state.
type State struct {
	*vm.State

	// Unhealthy are the names of machines that fail their health checks.
	Unhealthy map[string]bool
}

const (
	protocolTCP = "TCP"

	// Schemes of load balancers.
	schemeExternal = "EXTERNAL"
	schemeInternal = "INTERNAL"
)
