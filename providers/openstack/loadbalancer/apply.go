package loadbalancer

import (
	"context"
	"fmt"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// busyTries is how often a change is tried that Octavia refuses because of another one: our own
	// never meet, so that it takes somebody else to refuse even the second.
	busyTries = 10
	// busyPause is for a load balancer at rest that refuses all the same, because a part of it is not.
	busyPause = time.Second
)

// mutate makes one change in the load balancer once it takes changes, notes it, and waits until the
// load balancer is at rest again.
func (d *differ) mutate(ctx context.Context, ids *plan.Handles, do func(context.Context) error, note func()) error {
	id, err := d.loadBalancerID(ids)
	if err != nil {
		return err
	}
	return d.booked(d.cloud.mutate(ctx, id, do, note), nil)
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

func (c *Cloud) mutate(ctx context.Context, id string, do func(context.Context) error, note func()) error {
	done, err := c.locks.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	return c.mutateInTurn(ctx, id, do, note)
}

// mutateInTurn is mutate for who holds the load balancer's turn.
func (c *Cloud) mutateInTurn(ctx context.Context, id string, do func(context.Context) error, note func()) error {
	if err := c.atRest(ctx, id); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := do(ctx)
		if err == nil {
			break
		}
		if !oserr.Immutable(err) || try == busyTries {
			return err
		}
		c.store.SetStatus(id, api.PendingUpdate)
		if try > 1 {
			if err := clocks.Sleep(ctx, c.clock, busyPause); err != nil {
				return err
			}
		}
		if err := c.atRest(ctx, id); err != nil {
			return err
		}
	}
	note()
	c.store.SetStatus(id, api.PendingUpdate)
	if err := c.atRest(ctx, id); err != nil {
		return err
	}
	c.store.SettleParts(id)
	return nil
}

// atRest waits until a load balancer takes changes. One that cannot come to rest any more is an error.
func (c *Cloud) atRest(ctx context.Context, id string) error {
	lb, ok := c.store.LoadBalancer(id)
	if ok && lb.ProvisioningStatus == api.Active {
		return nil
	}
	why := changing
	if lb.ProvisioningStatus == api.PendingCreate {
		why = booting
	}
	if !ok || lb.ProvisioningStatus != api.Error {
		var gone bool
		var err error
		if lb, gone, err = c.waiter.rest(ctx, id, why); err != nil {
			return err
		}
		if gone {
			c.store.Delete(id)
			return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "load balancer " + id, Err: fmt.Errorf("it was deleted while it was being changed")}
		}
	}
	if lb.ProvisioningStatus == api.Active {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + id,
		Err: fmt.Errorf("it is in the state %s, in which Octavia changes nothing: it is made anew when the Service is synced next if it is this Service's alone; otherwise ask the cloud's operator for a failover", lb.ProvisioningStatus)}
}
