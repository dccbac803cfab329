package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb"
)

var _ lbcommon.Keeper[Desired, Observed] = (*Cloud)(nil)

// Keep implements lbcommon.Keeper.
func (c *Cloud) Keep(want Desired, have Observed, differences []plan.Difference) Desired {
	if want.Network != nil {
		kept := nlb.Keep(*want.Network, have.Network, differences)
		return Desired{Network: &kept}
	}
	kept := classic.Keep(*want.Classic, have.Classic, differences)
	return Desired{Classic: &kept}
}
