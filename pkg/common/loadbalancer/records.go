package loadbalancer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Kinds of changes with the same meaning on every cloud.
const (
	// KindLoadBalancer is the load balancer itself.
	KindLoadBalancer = "load balancer"
	// KindRecord is the AppliedRecord that is stored with a load balancer.
	KindRecord = "applied record"
)

// A stored record only saves reads at the next start and proves that a field has not changed, so minutes do
// not matter. If many Services change at once, as when a node joins, waiting until the burst ends lets one
// call store the records of many load balancers.
const (
	// RecordCalm is the time without new due records after which the due ones are written, at the next of the
	// checks every recordCheck.
	RecordCalm  = 30 * time.Second
	recordCheck = RecordCalm / 3
	// recordPeriod bounds the wait, and is the backoff after failed writes.
	recordPeriod = 5 * time.Minute
)

// dueRecords are the updates that wait for WriteRecords, by lockName.
type dueRecords struct {
	mu      sync.Mutex
	updates map[string]RecordUpdate[any]
	// changed is when an update was last added.
	changed time.Time
}

func (r *dueRecords) add(update RecordUpdate[any], now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.updates == nil {
		r.updates = map[string]RecordUpdate[any]{}
	}
	r.updates[lockName(update.Key)] = update
	r.changed = now
}

func (r *dueRecords) remove(name string) (RecordUpdate[any], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	update, ok := r.updates[name]
	delete(r.updates, name)
	return update, ok
}

func (r *dueRecords) names() (names []string, changed time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.updates)), r.changed
}

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

// membersOnly reports whether a plan changes nothing but members.
func membersOnly(p plan.Plan) bool { return countMembership(p) == len(p.Changes) }

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

// createsLoadBalancer reports whether the plan creates or replaces the load balancer; the record is then part
// of the creation.
func createsLoadBalancer(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
		return c.Kind == KindLoadBalancer && c.Action == plan.Create
	})
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

// Run writes deferred records until ctx ends. In a dry run it returns at once.
func (c *Controller) Run(ctx context.Context) {
	if r := c.runtime.Load(); !c.options.DeferRecords || r != nil && r.DryRun {
		return
	}
	clock := c.options.Clock
	for last := clock.Now(); clocks.Sleep(ctx, clock, recordCheck) == nil; {
		names, changed := c.due.names()
		now := clock.Now()
		if len(names) == 0 || now.Sub(changed) < RecordCalm && now.Sub(last) < recordPeriod {
			continue
		}
		last = now
		if err := panics.Do(func() error { return c.WriteRecords(ctx) }); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Failed to write applied records, will retry", "after", recordPeriod, "err", err)
			if clocks.Sleep(ctx, clock, recordPeriod) != nil {
				return
			}
		}
	}
}

// WriteRecords writes the deferred records of all Services that are not being synced. Those with a failed
// write stay due.
func (c *Controller) WriteRecords(ctx context.Context) error {
	if r := c.runtime.Load(); c.records == nil || r != nil && r.DryRun {
		return nil
	}
	updates, unlock := c.lockDueRecords()
	defer unlock()
	if len(updates) == 0 {
		return nil
	}
	p := plan.Plan{Subject: "applied records", Changes: c.records.StoreRecords(updates)}
	_, err := c.run(ctx, klog.FromContext(ctx).WithValues("provider", c.options.Provider), p)
	if err != nil {
		for _, update := range updates {
			c.due.add(update, c.options.Clock.Now())
		}
	}
	return err
}

// lockDueRecords removes the due records of the Services that are not being synced, and locks these until
// unlock.
func (c *Controller) lockDueRecords() (updates []RecordUpdate[any], unlock func()) {
	var locked []func()
	names, _ := c.due.names()
	for _, name := range names {
		unlock, ok := c.locks.TryLock(name)
		if !ok {
			continue // the sync in progress stores it again
		}
		locked = append(locked, unlock)
		if update, ok := c.due.remove(name); ok {
			updates = append(updates, update)
		}
	}
	return updates, func() {
		for _, unlock := range locked {
			unlock()
		}
	}
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
