package loadbalancer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
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
