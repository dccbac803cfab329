package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Effects returns the disruptive changes of both generations.
func Effects() []plan.Effect { return slices.Concat(nlb.Effects(), classic.Effects(), vpc.Effects()) }
