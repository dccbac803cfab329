package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return slices.Concat(ruleKind.Effects(), poolKind.Effects(), backendKind.Effects(), firewallKind.Effects())
}
