package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Intervals of polls of a load balancer while it changes. OVN takes about 0.2 s for a change and an amphora a
// few seconds, which the steps up to maxStep cover; a new amphora boots for about a minute, where polling
// more often than maxBootStep would cost more requests than it saves time.
const (
	firstPoll   = 250 * time.Millisecond
	maxStep     = 2 * time.Second
	growth      = 2
	maxBootStep = 2600 * time.Millisecond
	bootGrowth  = 3
	// minPollInterval is the shortest time between two polls. It grows by pollIntervalPerWaiter for each waiter, up to
	// maxPollInterval, so that changes that start one after the other cost about as many polls as one.
	minPollInterval       = 200 * time.Millisecond
	pollIntervalPerWaiter = 10 * time.Millisecond
	maxPollInterval       = time.Second
	// listThreshold is the number of awaited load balancers from which one list is cheaper than a read of each.
	listThreshold = 2
)

// waiter polls all awaited load balancers together: one list serves all callers.
type waiter struct {
	api   api.LoadBalancingAPI
	clock clock.Clock
	store *observe.Store

	mu      sync.Mutex
	waiting map[*wait]struct{}
	// running is set while a goroutine polls.
	running bool
	// wake interrupts its sleep: a new wait is due sooner.
	wake chan struct{}
	last time.Time
}

// cause is the reason why a load balancer changes.
type cause int

const (
	changing cause = iota
	booting
	leaving
)

// wait is one caller that waits until a load balancer is no longer changing.
type wait struct {
	id   string
	why  cause
	step time.Duration
	due  time.Time
	done chan settled
}

// settled is the result of a poll of one load balancer, which ends a wait.
type settled struct {
	lb      api.LoadBalancer
	deleted bool
	err     error
}

func newWaiter(client api.LoadBalancingAPI, c clock.Clock, s *observe.Store) *waiter {
	return &waiter{api: client, clock: c, store: s, waiting: map[*wait]struct{}{}, wake: make(chan struct{}, 1)}
}

// await waits until a load balancer is neither changing nor being deleted. Deleted reports that it does not exist any
// more.
func (w *waiter) await(ctx context.Context, id string, why cause) (lb api.LoadBalancer, deleted bool, err error) {
	one := &wait{id: id, why: why, step: firstPoll, due: w.clock.Now().Add(firstPoll), done: make(chan settled, 1)}
	w.mu.Lock()
	w.waiting[one] = struct{}{}
	if !w.running {
		w.running = true
		// Other waiters also need this one's deadline; each call has its own.
		go w.run(context.WithoutCancel(ctx))
	}
	w.mu.Unlock()
	w.nudge()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, one)
		w.mu.Unlock()
		w.nudge()
	}()
	select {
	case s := <-one.done:
		return s.lb, s.deleted, s.err
	case <-ctx.Done():
		return lb, false, fmt.Errorf("load balancer %s is still busy: %w", id, ctx.Err())
	}
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run polls as long as there are waits.
func (w *waiter) run(ctx context.Context) {
	for {
		due, ok := w.next()
		if !ok {
			return
		}
		timer := w.clock.NewTimer(due.Sub(w.clock.Now()))
		select {
		case <-timer.C():
			w.poll(ctx)
		case <-w.wake:
		}
		timer.Stop()
	}
}

// next returns when to poll; false if there are no waits.
func (w *waiter) next() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due time.Time
	for one := range w.waiting {
		if due.IsZero() || one.due.Before(due) {
			due = one.due
		}
	}
	if due.IsZero() {
		w.running = false
		return due, false
	}
	if soonest := w.last.Add(min(minPollInterval+time.Duration(len(w.waiting))*pollIntervalPerWaiter,
		maxPollInterval)); due.Before(soonest) {
		due = soonest
	}
	return due, true
}

// poll reads all awaited load balancers at once, and ends the waits for those that are ACTIVE.
func (w *waiter) poll(ctx context.Context) {
	w.mu.Lock()
	ids := map[string]cause{}
	for one := range w.waiting {
		ids[one.id] = one.why
	}
	w.last = w.clock.Now()
	w.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	found := w.read(ctx, ids)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for one := range w.waiting {
		if s, awaited := found[one.id]; awaited {
			one.update(s, now)
		}
	}
}

// update ends a wait, or sets when to poll again.
func (o *wait) update(s settled, now time.Time) {
	busy := s.err == nil && !s.deleted && observe.IsPending(s.lb.ProvisioningStatus)
	if busy || isTransient(s.err) {
		o.later(now)
		return
	}
	o.end(s)
}

// isTransient reports whether the next poll may succeed after an error.
func isTransient(err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Canceled)
}

func (o *wait) end(s settled) {
	select {
	case o.done <- s:
	default:
	}
}

// later makes the polls rarer, the longer it takes.
func (o *wait) later(now time.Time) {
	if o.why == booting {
		o.step = min(o.step*bootGrowth, maxBootStep)
	} else {
		o.step = min(o.step*growth, maxStep)
	}
	o.due = now.Add(o.step)
}

// read returns the state of each awaited load balancer. An error about one of them affects only that one;
// after a transient error the rest is not read, since it would probably fail too.
func (w *waiter) read(ctx context.Context, ids map[string]cause) map[string]settled {
	found := map[string]settled{}
	before := w.store.Begin()
	var failed error
	if len(ids) >= listThreshold {
		var list []api.LoadBalancer
		list, failed = w.api.ListLoadBalancers(ctx)
		for _, lb := range list {
			if _, awaited := ids[lb.ID]; awaited && lb.ProvisioningStatus != api.Deleted {
				found[lb.ID] = settled{lb: lb}
				w.store.Saw(before, lb)
			}
		}
	}
	for id, why := range ids {
		_, listed := found[id]
		switch {
		case listed:
		case failed != nil:
			found[id] = settled{err: failed}
		case why == leaving && len(ids) >= listThreshold:
			found[id] = settled{deleted: true} // expected not to be in the list
		default:
			// Lists show only the project's own load balancers.
			found[id] = w.readOne(ctx, before, id)
			if isTransient(found[id].err) {
				failed = found[id].err
			}
		}
	}
	return found
}

// readOne reads one load balancer.
func (w *waiter) readOne(ctx context.Context, before snapshot.Reading, id string) settled {
	lb, err := w.api.GetLoadBalancer(ctx, id)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound), err == nil && lb.ProvisioningStatus == api.Deleted:
		return settled{deleted: true}
	case err != nil:
		return settled{err: err}
	}
	w.store.Saw(before, lb)
	return settled{lb: lb}
}
