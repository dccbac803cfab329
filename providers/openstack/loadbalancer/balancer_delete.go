package loadbalancer

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// loadBalancerDelete deletes the load balancer with everything in it, and waits until it is deleted.
func (d *differ) loadBalancerDelete(have api.LoadBalancer, reason string) plan.Change {
	listeners, pools := d.have.Listeners, d.have.Pools
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Delete, have.ID),
		ID:     have.ID,
		Reason: reason,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			err := d.cloud.applier.Delete(ctx, have, listeners, pools)
			if cloudapi.Is(err, cloudapi.Denied) {
				// It is another project's: it stays, and must not block the deletion of the Service.
				d.cloud.store.Deny(have.ID)
				return nil
			}
			return d.finish(err, func() { d.cloud.store.Delete(have.ID) })
		},
	}
}

// deleteIfLast deletes a load balancer, and its floating IP, if this Service is the last that uses it and it
// was created for a Service of this cluster. The caller holds the load balancer's lock, so that of several
// Services that leave at once exactly the last one deletes it; it reads the current state of the cloud.
func (d *differ) deleteIfLast(ctx context.Context, id string) (bool, error) {
	if known, ok := d.cloud.store.LoadBalancer(id); ok && len(d.key.Guests(known)) > 0 {
		return false, nil
	}
	lb, err := d.cloud.api.GetLoadBalancer(ctx, id)
	if missing, err := observe.IgnoreMissing(err); missing || err != nil {
		return missing, err
	}
	if !d.isOfCluster(lb) || len(d.key.Guests(lb)) > 0 {
		return false, nil
	}
	for _, f := range d.attached(&lb) {
		change, ok := d.releaseAtDeletion(f)
		if !ok {
			continue
		}
		if err := change.Do(ctx, nil); err != nil {
			return true, err
		}
	}
	return true, d.finish(d.cloud.applier.DeleteLocked(ctx, lb), func() { d.cloud.store.Delete(lb.ID) })
}
