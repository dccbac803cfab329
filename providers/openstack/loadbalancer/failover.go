package loadbalancer

import (
	"context"
	"fmt"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// A load balancer in the state ERROR may still forward traffic, and Octavia changes nothing of it, including
// its members. A failover builds it again with its address and all its parts. Only if Octavia denies it, as
// it does by default to all but administrators, another load balancer replaces it, with its address if that
// is still free. Either needs an approval.

// recovers reports whether a failover is planned for a load balancer.
func (d *differ) recovers(lb api.LoadBalancer) bool {
	refused := d.have.FailoverRefused || d.want.FailoverRefused == lb.ID
	return lb.ProvisioningStatus == api.Error && d.owner && !d.neverWorked(lb) && !refused
}

// neverWorked reports whether the creation of a load balancer of ours failed: its ID is written on the
// Service once it works.
func (d *differ) neverWorked(lb api.LoadBalancer) bool {
	return !storedRecord(lb).IsZero() && d.key.Named != lb.ID
}

// recover plans the failover of a load balancer, and after it all other changes.
func (d *differ) recover(lb *api.LoadBalancer) error {
	change := d.failover(*lb)
	if d.isHeld(change.Ref) {
		return nil
	}
	before := len(d.plan.Changes)
	if err := d.ensureExisting(lb); err != nil {
		return err
	}
	for i := range d.plan.Changes[before:] {
		after := &d.plan.Changes[before+i].After
		*after = append([]plan.Ref{change.Ref}, *after...)
	}
	d.add(change)
	return nil
}

// failure returns the fields that tell one failure of a load balancer from the next, so that an approval holds for one.
func failure(lb api.LoadBalancer) []plan.Field {
	return []plan.Field{{Name: "id", Before: lb.ID}, {Name: "updated_at", Before: lb.UpdatedAt.Format(time.RFC3339)}}
}

// failover requests that Octavia builds a load balancer again.
func (d *differ) failover(have api.LoadBalancer) plan.Change {
	change := plan.Change{
		Ref: d.ref(kindLoadBalancer, have.Name, plan.Update, "failover"),
		Fields: append(failure(have), plan.Field{Name: "provisioning_status", Before: have.ProvisioningStatus,
			After: api.Active}),
		Reason: "the load balancer is in the state ERROR: requesting a failover",
		Do: func(ctx context.Context, _ *plan.Handles) error {
			refused, err := d.cloud.applier.Failover(ctx, have.ID)
			if refused {
				d.cloud.store.RefuseFailover(have.ID)
				return fmt.Errorf("%w; Octavia refuses the failover: ask the cloud's operator for it, or approve the "+
					"replacement that is planned next", err)
			}
			return d.finish(err, nil)
		},
	}
	failsOver.Declare(&change)
	return change
}
