package loadbalancer

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// recordUpdate returns the update of the stored record that is due once the plan is applied, or false if there is none.
// A load balancer that was taken over gets its first record with the first change that is made anyway: not without a
// change, and not with a change of only members that the record does not describe. So does a record of an earlier
// release, which has no ports, while every Service has some.
func (c *Controller) recordUpdate(t target, have any, applied plan.Plan) (RecordUpdate[any], bool) {
	if c.records == nil || t.want == nil {
		return RecordUpdate[any]{}, false
	}
	stored, writable := c.records.StoredRecord(t.key, have)
	want := c.records.DesiredRecord(*t.want)
	if len(applied.Held) > 0 || len(applied.Unapplied) > 0 {
		want = want.WithPending(stored, applied.Unapplied)
		if membersOnly(applied) {
			want.State = stored.State // still that of the load balancer
		}
	}
	if !writable || want.IsZero() || !stored.IsOutdated(want) {
		return RecordUpdate[any]{}, false
	}
	if !stored.Has(intent.FieldPorts) && (applied.Empty() || membersOnly(applied) && want.Members == "") {
		return RecordUpdate[any]{}, false
	}
	return RecordUpdate[any]{Key: t.key, Have: have, Record: want}, true
}

// withRecord adds the updates of the stored record to a plan, unless they are deferred: if the plan only
// changes members.
func (c *Controller) withRecord(t target, have any, p plan.Plan) plan.Plan {
	if c.options.DeferRecords && membersOnly(p) {
		return p
	}
	return c.withRecords(t, have, p)
}

// withRecords adds the updates of the stored record to a plan, deferred ones included.
func (c *Controller) withRecords(t target, have any, p plan.Plan) plan.Plan {
	if createsLoadBalancer(p) {
		return p
	}
	update, ok := c.recordUpdate(t, have, p)
	if !ok {
		return p
	}
	changes := c.records.StoreRecords([]RecordUpdate[any]{update})
	for i := range changes {
		changes[i].After, changes[i].Membership = plan.Refs(p.Changes), membersOnly(p)
	}
	p.Changes = slices.Concat(p.Changes, changes)
	return p
}

// deferRecord stores the update of the stored record for WriteRecords. Have are the existing objects after
// the plan was applied.
func (c *Controller) deferRecord(t target, have any, applied plan.Plan) {
	update, ok := c.recordUpdate(t, have, applied)
	if !ok || !c.options.DeferRecords {
		c.due.remove(lockName(t.key))
		return
	}
	c.due.add(update, c.options.Clock.Now())
}

// deferMembers stores the update of the stored record after members were changed, if the target is reached.
func (c *Controller) deferMembers(ctx context.Context, t target, applied plan.Plan) {
	if !c.options.DeferRecords {
		return
	}
	have, err := c.observe(ctx, t, Cached)
	if err != nil {
		return // the next sync stores it
	}
	if remaining, err := c.diff(ctx, t, have); err != nil || !remaining.Empty() {
		c.due.remove(lockName(t.key))
		return
	}
	c.deferRecord(t, have, applied)
}

// recordChanged sends an Event about the applied changes.
func (c *Controller) recordChanged(service *v1.Service, applied plan.Plan) {
	if applied = filterReported(applied); !applied.Empty() {
		c.event(service, events.LoadBalancerChanged, plan.Summary(applied))
	}
}

// filterReported returns the changes of a plan that Events report: all but records and the retries of denied ones.
func filterReported(p plan.Plan) plan.Plan {
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool {
		return c.Kind == KindRecord || c.Retry
	})
	return p
}
