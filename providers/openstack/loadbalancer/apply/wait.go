package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Intervals of polls of a load balancer while it changes. OVN takes about 0.2 s for a change and an amphora a
// few seconds, which the steps up to maxStep cover; a new amphora boots for about a minute, where polling
// more often than maxBootStep would cost more requests than it saves time.
const (
	initialStep    = 250 * time.Millisecond
	maxStep        = 2 * time.Second
	stepGrowth     = 2
	maxBootStep    = 2600 * time.Millisecond
	bootStepGrowth = 3
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
	wake     chan struct{}
	lastPoll time.Time
}

// waitReason is the change that a wait is for.
type waitReason int

const (
	waitForChange waitReason = iota
	waitForCreation
	waitForDeletion
)

// wait is one caller that waits until a load balancer is no longer changing.
type wait struct {
	id     string
	reason waitReason
	// step is the time until the poll after the next one.
	step     time.Duration
	nextPoll time.Time
	done     chan pollResult
}

// pollResult is the result of a poll of one load balancer.
type pollResult struct {
	lb      api.LoadBalancer
	deleted bool
	err     error
}

func newWaiter(client api.LoadBalancingAPI, c clock.Clock, s *observe.Store) *waiter {
	return &waiter{api: client, clock: c, store: s, waiting: map[*wait]struct{}{}, wake: make(chan struct{}, 1)}
}

// await waits until a load balancer is neither changing nor being deleted. deleted reports that it
// does not exist.
func (w *waiter) await(ctx context.Context, id string, reason waitReason) (
	lb api.LoadBalancer, deleted bool, err error,
) {
	entry := &wait{id: id, reason: reason, step: initialStep, nextPoll: w.clock.Now().Add(initialStep),
		done: make(chan pollResult, 1)}
	w.mu.Lock()
	w.waiting[entry] = struct{}{}
	if !w.running {
		w.running = true
		// Other waiters need the polls too, so they must not end with this context; each call has its own deadline.
		go w.run(context.WithoutCancel(ctx))
	}
	w.mu.Unlock()
	w.interruptSleep()
	defer func() {
		w.mu.Lock()
		delete(w.waiting, entry)
		w.mu.Unlock()
		w.interruptSleep()
	}()
	select {
	case result := <-entry.done:
		return result.lb, result.deleted, result.err
	case <-ctx.Done():
		return lb, false, fmt.Errorf("load balancer %s is still busy: %w", id, ctx.Err())
	}
}

func (w *waiter) interruptSleep() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run polls as long as there are waits.
func (w *waiter) run(ctx context.Context) {
	for {
		due, ok := w.nextPoll()
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

// nextPoll returns the time of the next poll; false if there are no waits.
func (w *waiter) nextPoll() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due time.Time
	for entry := range w.waiting {
		if due.IsZero() || entry.nextPoll.Before(due) {
			due = entry.nextPoll
		}
	}
	if due.IsZero() {
		w.running = false
		return due, false
	}
	interval := min(minPollInterval+time.Duration(len(w.waiting))*pollIntervalPerWaiter, maxPollInterval)
	if earliest := w.lastPoll.Add(interval); due.Before(earliest) {
		due = earliest
	}
	return due, true
}

// poll reads all awaited load balancers at once, and ends the waits for those that are ACTIVE.
func (w *waiter) poll(ctx context.Context) {
	w.mu.Lock()
	reasons := map[string]waitReason{}
	for entry := range w.waiting {
		reasons[entry.id] = entry.reason
	}
	w.lastPoll = w.clock.Now()
	w.mu.Unlock()
	if len(reasons) == 0 {
		return
	}
	results, err := panics.Value(func() (map[string]pollResult, error) { return w.read(ctx, reasons), nil })
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for entry := range w.waiting {
		if result, ok := results[entry.id]; ok {
			entry.update(result, now)
		} else if _, polled := reasons[entry.id]; polled && err != nil {
			entry.update(pollResult{err: err}, now)
		}
	}
}

// update ends a wait, or sets its next poll.
func (o *wait) update(result pollResult, now time.Time) {
	busy := result.err == nil && !result.deleted && observe.IsPending(result.lb.ProvisioningStatus)
	if busy || isTransient(result.err) {
		o.backOff(now)
		return
	}
	select {
	case o.done <- result:
	default:
	}
}

// isTransient reports whether the next poll may succeed after an error.
func isTransient(err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Canceled)
}

// backOff sets the next poll: polls are rarer, the longer a change takes.
func (o *wait) backOff(now time.Time) {
	if o.reason == waitForCreation {
		o.step = min(o.step*bootStepGrowth, maxBootStep)
	} else {
		o.step = min(o.step*stepGrowth, maxStep)
	}
	o.nextPoll = now.Add(o.step)
}

// read returns the state of each awaited load balancer. An error about one of them affects only that one;
// after a transient error the rest is not read, since it would probably fail too.
func (w *waiter) read(ctx context.Context, reasons map[string]waitReason) map[string]pollResult {
	results := map[string]pollResult{}
	reading := w.store.Begin()
	var failed error
	if len(reasons) >= listThreshold {
		var list []api.LoadBalancer
		list, failed = w.api.ListLoadBalancers(ctx)
		for _, lb := range list {
			if _, awaited := reasons[lb.ID]; awaited && lb.ProvisioningStatus != api.Deleted {
				results[lb.ID] = pollResult{lb: lb}
				w.store.MergeLoadBalancer(reading, lb)
			}
		}
	}
	for id, reason := range reasons {
		_, listed := results[id]
		switch {
		case listed:
		case failed != nil:
			results[id] = pollResult{err: failed}
		case reason == waitForDeletion && len(reasons) >= listThreshold:
			results[id] = pollResult{deleted: true} // expected not to be in the list
		default:
			// Lists show only the project's own load balancers.
			results[id] = w.readOne(ctx, reading, id)
			if isTransient(results[id].err) {
				failed = results[id].err
			}
		}
	}
	return results
}

// readOne reads one load balancer.
func (w *waiter) readOne(ctx context.Context, reading snapshot.Reading, id string) pollResult {
	lb, err := w.api.GetLoadBalancer(ctx, id)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound), err == nil && lb.ProvisioningStatus == api.Deleted:
		return pollResult{deleted: true}
	case err != nil:
		return pollResult{err: err}
	}
	w.store.MergeLoadBalancer(reading, lb)
	return pollResult{lb: lb}
}
