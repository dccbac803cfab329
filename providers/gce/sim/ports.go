package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/sim/world"

var _ world.PortKeeper = (*Cloud)(nil)

// KeepsPorts implements world.PortKeeper: passthrough load balancers deliver packets as they are.
func (*Cloud) KeepsPorts() {}
