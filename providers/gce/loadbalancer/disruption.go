package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return slices.Concat(ruleKind.Effects(), poolKind.Effects(), backendKind.Effects(), firewalls.Kind.Effects())
}
