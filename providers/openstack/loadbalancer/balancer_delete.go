package loadbalancer

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// loadBalancerDelete deletes the load balancer with everything in it, and waits until it is gone.
func (d *differ) loadBalancerDelete(have api.LoadBalancer, reason string) plan.Change {
	listeners, pools := d.have.Listeners, d.have.Pools
	return plan.Change{
		Ref:    d.ref(kindLoadBalancer, have.Name, plan.Delete, have.ID),
		Reason: reason,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if d.cloud.settings.NoCascade && have.ProvisioningStatus == api.Active {
				if err := d.cloud.deleteParts(ctx, have.ID, listeners, pools); err != nil {
					return d.booked(err, nil)
				}
			}
			err := d.cloud.deleteBalancer(ctx, have)
			if cloudapi.Is(err, cloudapi.Denied) {
				// It is another project's: it stays, and must not keep the Service from going.
				d.cloud.store.Deny(have.ID)
				return nil
			}
			return d.booked(err, func() { d.cloud.store.Delete(have.ID) })
		},
	}
}

// deleteParts deletes what is in a load balancer piece by piece, for drivers that cannot do it at once.
func (c *Cloud) deleteParts(ctx context.Context, id string, listeners []api.Listener, pools []observe.Pool) error {
	nothing := func() {}
	for _, p := range pools {
		if p.MonitorID == "" {
			continue
		}
		if err := c.mutate(ctx, id, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(c.api.DeleteHealthMonitor(ctx, p.MonitorID))
		}, nothing); err != nil {
			return err
		}
	}
	for _, p := range pools {
		if err := c.mutate(ctx, id, func(ctx context.Context) error { return cloudapi.IgnoreNotFound(c.api.DeletePool(ctx, p.ID)) }, nothing); err != nil {
			return err
		}
	}
	for _, l := range listeners {
		if err := c.mutate(ctx, id, func(ctx context.Context) error { return cloudapi.IgnoreNotFound(c.api.DeleteListener(ctx, l.ID)) }, nothing); err != nil {
			return err
		}
	}
	return nil
}

// deleteBalancer deletes one load balancer once Octavia takes the deletion, and waits until it is gone.
func (c *Cloud) deleteBalancer(ctx context.Context, have api.LoadBalancer) error {
	done, err := c.locks.Lock(ctx, have.ID)
	if err != nil {
		return err
	}
	defer done()
	return c.deleteInTurn(ctx, have)
}

// deleteInTurn is deleteBalancer for who holds the load balancer's turn.
func (c *Cloud) deleteInTurn(ctx context.Context, have api.LoadBalancer) error {
	leavingNow := have.ProvisioningStatus == api.PendingDelete
	for try := 1; !leavingNow; try++ {
		err := c.api.DeleteLoadBalancer(ctx, have.ID, !c.settings.NoCascade || have.ProvisioningStatus == api.Error)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
			return nil
		case err == nil:
			leavingNow = true
			continue
		case !oserr.Immutable(err) || try == busyTries:
			return err
		}
		lb, gone, err := c.waiter.rest(ctx, have.ID, changing)
		if err != nil || gone {
			return err
		}
		have.ProvisioningStatus = lb.ProvisioningStatus
	}
	c.store.SetStatus(have.ID, api.PendingDelete)
	lb, gone, err := c.waiter.rest(ctx, have.ID, leaving)
	if err != nil || gone {
		return err
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + have.ID,
		Err: fmt.Errorf("it is in the state %s instead of gone: its deletion is tried again", lb.ProvisioningStatus)}
}

// deleteIfLast deletes a load balancer, and its floating IP, if this Service is the last that uses it
// and it was made for a Service of this cluster. The caller holds the load balancer's turn, so that of
// several Services that leave at once the last is sure to know it; and what the cloud says now counts.
func (d *differ) deleteIfLast(ctx context.Context, id string) (bool, error) {
	if known, ok := d.cloud.store.LoadBalancer(id); ok && len(d.key.Guests(known)) > 0 {
		return false, nil
	}
	lb, err := d.cloud.api.GetLoadBalancer(ctx, id)
	if gone, err := observe.IgnoreMissing(err); gone || err != nil {
		return gone, err
	}
	if !d.madeHere(lb) || len(d.key.Guests(lb)) > 0 {
		return false, nil
	}
	for _, f := range d.attached(&lb) {
		if !d.madeByUs(f) || kept(f) {
			continue
		}
		err := cloudapi.IgnoreNotFound(d.cloud.api.DeleteFloatingIP(ctx, f.ID))
		if err := d.booked(err, func() { d.cloud.store.FloatingIPs.Delete(f.ID) }); err != nil {
			return true, err
		}
	}
	return true, d.booked(d.cloud.deleteInTurn(ctx, lb), func() { d.cloud.store.Delete(lb.ID) })
}
