package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// mutate makes one change in the load balancer of the plan: see apply.Applier.Mutate.
func (d *differ) mutate(ctx context.Context, ids *plan.Handles, do func(context.Context) error, record func()) error {
	id, err := d.loadBalancerID(ids)
	if err != nil {
		return err
	}
	return d.finish(d.cloud.applier.Mutate(ctx, id, do, record), nil)
}

// finish records a write of ours, or, if it failed, that its outcome is uncertain. It returns err.
func (d *differ) finish(err error, record func()) error {
	if err != nil {
		d.cloud.store.MarkUncertain(d.key)
		return err
	}
	if record != nil {
		record()
	}
	d.cloud.store.MarkWritten(d.key)
	return nil
}

// loadBalancerID returns the ID of the existing load balancer, or of the one that this plan has created.
func (d *differ) loadBalancerID(ids *plan.Handles) (string, error) {
	if d.have.LoadBalancer != nil {
		return d.have.LoadBalancer.ID, nil
	}
	return ids.ID(loadBalancerHandle)
}
