package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// mutate makes one change in the load balancer once it takes changes, notes it, and waits until the
// load balancer is at rest again.
func (d *differ) mutate(ctx context.Context, ids *plan.Handles, do func(context.Context) error, note func()) error {
	id, err := d.loadBalancerID(ids)
	if err != nil {
		return err
	}
	return d.booked(d.cloud.applier.Mutate(ctx, id, do, note), nil)
}

// booked notes a write of ours, or, when it failed, that nobody knows how far it got. It returns err.
func (d *differ) booked(err error, note func()) error {
	if err != nil {
		d.cloud.store.MarkUncertain(d.key)
		return err
	}
	if note != nil {
		note()
	}
	d.cloud.store.MarkWritten(d.key)
	return nil
}

// loadBalancerID returns the ID of the load balancer that exists, or of the one that this plan has created.
func (d *differ) loadBalancerID(ids *plan.Handles) (string, error) {
	if d.have.LoadBalancer != nil {
		return d.have.LoadBalancer.ID, nil
	}
	return ids.ID(loadBalancerHandle)
}
