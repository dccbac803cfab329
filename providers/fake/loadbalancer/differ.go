package loadbalancer

import (
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
	key  lbcommon.Key
	want Desired
	have Observed
	plan plan.Plan
}
