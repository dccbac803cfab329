package operations

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Waiter starts operations of one cloud and waits for them. It is safe for concurrent use.
type Waiter struct {
	options Options
	poller  *poller
	source  Source

	mu sync.Mutex
	// pending are the operations whose end was not seen, by ID.
	pending map[string]*pending
	// starting are the requests in flight, and uncertain those without a reply.
	starting  map[Request]*start
	uncertain map[Request]uncertainRequest
}

// start is a request in flight, which equal requests share.
type start struct {
	done chan struct{}
	// op and err are set when done is closed.
	op  Operation
	err error
}

// uncertainRequest is a request without a reply.
type uncertainRequest struct {
	id    string
	since time.Time
}

// Request identifies the change that an operation makes. Equal requests share an operation while it runs.
type Request struct {
	// Name is the cloud's name of the call, such as forwardingRules.insert.
	Name string
	// Target identifies the object that it changes.
	Target string
	// Digest distinguishes calls of one name for one object; it is that of the body.
	Digest string
}

// pending is an operation that has not ended, as far as is known.
type pending struct {
	// id is the key of the operation. That of op changes if the cloud sends another URL to poll.
	id string
	op Operation
	// request is the zero value for an operation that was found.
	request Request
	since   time.Time
	// polls is nil while nobody waits.
	polls *polls
}

// polls are the polls of an operation that all its waiters share.
type polls struct {
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	// err is set when done is closed.
	err error
}

// New returns a Waiter for the operations of a source.
func New(o Options, source Source) *Waiter {
	o = o.withDefaults()
	shared().set.Register()
	return &Waiter{
		options: o, poller: newPoller(o, source), source: source,
		pending: map[string]*pending{}, starting: map[Request]*start{}, uncertain: map[Request]uncertainRequest{},
	}
}

// Wait returns once an operation has ended, with its error. All waits for one operation share its polls, which end with
// the last of them; the operation itself continues. Another wait for it then takes up the polls.
//
// Errors: the operation's own, with its class; Unavailable if the budget of polls is spent or the cloud has lost the
// operation; the context's, unwrapped.
func (w *Waiter) Wait(ctx context.Context, op Operation) error {
	if op.Done {
		return op.failure()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p, shared := w.join(ctx, op)
	select {
	case <-shared.done:
		return shared.err
	case <-ctx.Done():
		w.leave(p, shared)
		return ctx.Err()
	}
}

// Pending returns the operations on a target whose end was not seen, sorted by ID. It makes no call.
func (w *Waiter) Pending(target string) []Operation {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pruneLocked()
	var out []Operation
	for _, p := range w.pending {
		if p.op.Target == target {
			out = append(out, p.op)
		}
	}
	sorting.Func(out, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// join adds a waiter to the polls of an operation, and starts them for the first.
func (w *Waiter) join(ctx context.Context, op Operation) (*pending, *polls) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pending[op.ID]
	if p == nil {
		p = w.addLocked(Request{}, op)
	}
	if p.polls == nil {
		pollCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p.polls = &polls{cancel: cancel, done: make(chan struct{})}
		go w.run(pollCtx, p, p.polls, p.op)
	}
	p.polls.waiters++
	return p, p.polls
}

// leave removes a waiter. The polls end with the last one.
func (w *Waiter) leave(p *pending, left *polls) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if left.waiters--; left.waiters > 0 {
		return
	}
	left.cancel()
	if p.polls == left {
		p.polls = nil
	}
}

// run polls an operation until it ends or its polls do.
func (w *Waiter) run(ctx context.Context, p *pending, own *polls, op Operation) {
	defer own.cancel()
	op, err := panics.Value(func() (Operation, error) { return w.poller.untilDone(ctx, op) })
	w.mu.Lock()
	defer w.mu.Unlock()
	p.op = op
	if p.polls == own {
		p.polls = nil
	}
	if own.err = err; err == nil {
		own.err = op.failure()
		w.endLocked(p)
	}
	close(own.done)
}

// addLocked remembers an operation that runs.
func (w *Waiter) addLocked(r Request, op Operation) *pending {
	p := &pending{id: op.ID, op: op, request: r, since: w.options.Clock.Now()}
	w.pending[op.ID] = p
	w.countLocked()
	return p
}

// endLocked forgets an operation that has ended.
func (w *Waiter) endLocked(p *pending) {
	if w.pending[p.id] != p {
		return // two sets of polls saw the end
	}
	delete(w.pending, p.id)
	w.observe(p.op, p.since)
	w.countLocked()
}

// observe records the duration of an operation that has ended.
func (w *Waiter) observe(op Operation, since time.Time) {
	shared().duration.WithLabelValues(w.options.Provider, op.Name, op.result()).
		Observe(w.options.Clock.Since(since).Seconds())
}

// pruneLocked forgets what is older than the max age and has no waiter.
func (w *Waiter) pruneLocked() {
	oldest := w.options.Clock.Now().Add(-w.options.MaxAge)
	for id, p := range w.pending {
		if p.polls == nil && p.since.Before(oldest) {
			delete(w.pending, id)
		}
	}
	for r, u := range w.uncertain {
		if u.since.Before(oldest) {
			delete(w.uncertain, r)
		}
	}
	w.countLocked()
}

func (w *Waiter) countLocked() {
	shared().running.WithLabelValues(w.options.Provider).Set(float64(len(w.pending)))
}
