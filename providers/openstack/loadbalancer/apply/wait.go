package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// How often a load balancer is looked at while it is busy. OVN takes about 0.2 s for a change and an
// amphora a few seconds, which the steps up to slowest cover; a new amphora boots for about a minute,
// where looking more often than slowestBoot would cost more requests than it saves time.
const (
	firstLook   = 250 * time.Millisecond
	slowest     = 2 * time.Second
	growth      = 2
	slowestBoot = 2600 * time.Millisecond
	growthBoot  = 3
	// closestLooks is how long after another a look may come. Each who waits would look at moments of its
	// own: for each of them looks are forEach further apart, up to apart, so that a crowd whose changes
	// begin one after the other costs about as many looks as one.
	closestLooks = 200 * time.Millisecond
	forEach      = 10 * time.Millisecond
	apart        = time.Second
	// crowd is how many waiting load balancers make one list of all cheaper than a look at each.
	crowd = 2
)

// waiter looks at all load balancers that somebody waits for, together: one list serves everybody.
type waiter struct {
	api   api.LoadBalancingAPI
	clock clock.Clock
	store *observe.Store

	mu      sync.Mutex
	waiting map[*wait]struct{}
	// running says that a goroutine looks.
	running bool
	// wake tells it that somebody waits who does so sooner.
	wake chan struct{}
	last time.Time
}

// cause is what a load balancer is busy with.
type cause int

const (
	changing cause = iota
	booting
	leaving
)

// wait is one that waits for a load balancer to be at rest.
type wait struct {
	id   string
	why  cause
	step time.Duration
	due  time.Time
	done chan settled
}

// settled is how a wait ended.
type settled struct {
	lb   api.LoadBalancer
	gone bool
	err  error
}

func newWaiter(client api.LoadBalancingAPI, c clock.Clock, s *observe.Store) *waiter {
	return &waiter{api: client, clock: c, store: s, waiting: map[*wait]struct{}{}, wake: make(chan struct{}, 1)}
}

// rest waits until a load balancer is neither changing nor being deleted. Gone says that it does not exist any more.
func (w *waiter) rest(ctx context.Context, id string, why cause) (lb api.LoadBalancer, gone bool, err error) {
	one := &wait{id: id, why: why, step: firstLook, due: w.clock.Now().Add(firstLook), done: make(chan settled, 1)}
	w.mu.Lock()
	w.waiting[one] = struct{}{}
	if !w.running {
		w.running = true
		// The others who wait want to know also when this one gives up; each call has a deadline of its own.
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
		return s.lb, s.gone, s.err
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

// run looks as long as anybody waits.
func (w *waiter) run(ctx context.Context) {
	for {
		due, ok := w.next()
		if !ok {
			return
		}
		timer := w.clock.NewTimer(due.Sub(w.clock.Now()))
		select {
		case <-timer.C():
			w.look(ctx)
		case <-w.wake:
		}
		timer.Stop()
	}
}

// next is when to look; false if nobody waits any more.
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
	if soonest := w.last.Add(min(closestLooks+time.Duration(len(w.waiting))*forEach, apart)); due.Before(soonest) {
		due = soonest
	}
	return due, true
}

// look asks about everybody's load balancer at once, and lets those go that are at rest.
func (w *waiter) look(ctx context.Context) {
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
	found, err := w.ask(ctx, ids)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for one := range w.waiting {
		if _, asked := ids[one.id]; asked {
			w.tell(one, found, err, now)
		}
	}
}

// tell ends a wait, or sets when to look again.
func (w *waiter) tell(one *wait, found map[string]api.LoadBalancer, err error, now time.Time) {
	lb, exists := found[one.id]
	switch {
	case err != nil && !cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Canceled):
		one.end(settled{err: err})
	case err == nil && !exists:
		one.end(settled{gone: true})
	case err == nil && !observe.IsPending(lb.ProvisioningStatus):
		one.end(settled{lb: lb})
	default:
		one.later(now)
	}
}

func (o *wait) end(s settled) {
	select {
	case o.done <- s:
	default:
	}
}

// later spaces out the looks, the longer it takes.
func (o *wait) later(now time.Time) {
	if o.why == booting {
		o.step = min(o.step*growthBoot, slowestBoot)
	} else {
		o.step = min(o.step*growth, slowest)
	}
	o.due = now.Add(o.step)
}

// ask reads the load balancers. Those that do not exist are not in the answer.
func (w *waiter) ask(ctx context.Context, ids map[string]cause) (map[string]api.LoadBalancer, error) {
	found := map[string]api.LoadBalancer{}
	before := w.store.Begin()
	if len(ids) >= crowd {
		list, err := w.api.ListLoadBalancers(ctx)
		if err != nil {
			return nil, err
		}
		for _, lb := range list {
			if _, asked := ids[lb.ID]; asked && lb.ProvisioningStatus != api.Deleted {
				found[lb.ID] = lb
				w.store.Saw(before, lb)
			}
		}
	}
	for id, why := range ids {
		// One that is being deleted is expected not to be in the list. Any other is asked for by its
		// ID, because lists show the project's own only.
		if _, listed := found[id]; listed || why == leaving && len(ids) >= crowd {
			continue
		}
		lb, err := w.api.GetLoadBalancer(ctx, id)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound), err == nil && lb.ProvisioningStatus == api.Deleted:
		case err != nil:
			return nil, err
		default:
			found[id] = lb
			w.store.Saw(before, lb)
		}
	}
	return found, nil
}
