package loadbalancer

import (
	"context"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// The kinds of objects in plans. Members are a separate kind, because only they change when nodes join and leave.
const (
	kindLoadBalancer = "load balancer"
	kindAddress      = "address"
	kindListener     = "listener"
	kindPool         = "pool"
	kindMembers      = "members"
)

// loadBalancerHandle identifies the load balancer in a plan before it exists.
const loadBalancerHandle plan.Handle = "load balancer"

// differ builds one plan.
type differ struct {
	// write makes the changes. Only their functions use it.
	write writer
	key   lbcommon.Key
	want  Desired
	have  Observed
	plan  plan.Plan
}

func newDiffer(write writer, have Observed) *differ {
	return &differ{write: write, key: write.key, have: have}
}

// loadBalancerID returns the ID of the load balancer for a new pool or listener: of the existing one, once it
// is active, or of the one that this plan created.
func (d *differ) loadBalancerID(ctx context.Context, ids *plan.Handles) (string, error) {
	if d.write.active == nil {
		return ids.ID(loadBalancerHandle)
	}
	return d.have.LoadBalancer.ID, d.write.active.wait(ctx)
}
