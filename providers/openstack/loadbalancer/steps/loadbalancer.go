package steps

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Failover builds a load balancer again, by its ID.
type Failover string

// Do implements plan.Step.
func (s Failover) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.Failover(ctx, string(s))
}

// CreationWait waits until a load balancer is created, by its ID.
type CreationWait string

// Do implements plan.Step.
func (s CreationWait) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.AwaitLoadBalancer(ctx, string(s))
}
