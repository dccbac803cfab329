package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/diff"
)

var _ lbcommon.Keeper[Desired, Observed] = (*Cloud)(nil)

// Keep implements lbcommon.Keeper.
func (c *Cloud) Keep(want Desired, have Observed, differences []plan.Difference) Desired {
	if want.Network != nil {
		kept := diff.Keep(*want.Network, have.Network, differences)
		want.Network = &kept
	}
	if want.Classic != nil {
		kept := want.Classic.Keep(have.Classic, differences)
		want.Classic = &kept
	}
	return want
}
