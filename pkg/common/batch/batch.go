// Package batch combines concurrent calls into bulk calls. A call starts at once if none is in flight, unless Options
// have a window, and keys that arrive while one is in flight are collected for the next. A single caller therefore does
// not wait, and concurrent callers share few calls.
package batch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// Func makes one bulk call for keys, which are distinct and in order of arrival. A key that is absent from
// the result was not found. An error applies to every key.
type Func[K comparable, V any] func(ctx context.Context, keys []K) (map[K]V, error)

// Options configure a Batcher. Zero values take the defaults named at each field.
type Options struct {
	// Provider and Operation are the labels of the metric; without a Provider there is no metric.
	Provider, Operation string
	// MaxSize is the maximum number of keys in one call; 0 means no limit. Set it to the limit of the cloud's
	// API if the Func does not split by itself.
	MaxSize int
	// Timeout bounds one call, because it outlives the contexts of its callers. 0 means DefaultTimeout.
	Timeout time.Duration
	// Window delays each call, so that the first of a burst of callers shares it with the others; 0 means no delay.
	Window time.Duration
	// Clock is for Window; the real clock when nil.
	Clock clock.Clock
	// Split reports whether a single key may have caused the error. A failed call of several keys is then
	// repeated in halves, so that only the bad key fails. Nil means never.
	Split func(error) bool
}

// DefaultTimeout covers a paged call that is throttled and retried by an SDK, and is short compared to the
// minutes between two passes of the framework's periodic loops.
const DefaultTimeout = time.Minute

// Batcher collects keys into bulk calls. It is safe for concurrent use.
type Batcher[K comparable, V any] struct {
	options Options
	call    Func[K, V]

	mu       sync.Mutex
	queue    []*entry[K, V]
	queued   map[K]*entry[K, V]
	inFlight bool
}

// entry is one key of one call, with its waiters.
type entry[K comparable, V any] struct {
	key     K
	ctx     context.Context   // of the first caller, for its values only; never for its cancellation
	callers []context.Context // of all waiters, to detect that all have left
	waiters int
	run     *run // nil while queued
	done    chan struct{}

	value V
	found bool
	err   error
}

// run is one call in flight.
type run struct {
	cancel  context.CancelFunc
	waiting int // entries that still have a waiter
}

// New returns a Batcher over call.
func New[K comparable, V any](o Options, call Func[K, V]) *Batcher[K, V] {
	o.Timeout, o.Clock = cmp.Or(o.Timeout, DefaultTimeout), clocks.OrReal(o.Clock)
	if o.Provider != "" {
		shared().set.Register()
	}
	return &Batcher[K, V]{options: o, call: call, queued: map[K]*entry[K, V]{}}
}

// Do requests key and returns its result, whether it was found, and the error of the call. The call always
// starts after Do was entered, so the result is never older than the request. When ctx ends, only this wait
// ends; the call continues for the other waiters.
func (b *Batcher[K, V]) Do(ctx context.Context, key K) (value V, found bool, err error) {
	if err := ctx.Err(); err != nil {
		return value, false, err
	}
	e := b.join(ctx, key)
	select {
	case <-e.done:
		return e.value, e.found, e.err
	case <-ctx.Done():
		b.leave(e)
		return value, false, ctx.Err()
	}
}

func (b *Batcher[K, V]) join(ctx context.Context, key K) *entry[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.queued[key]
	if e == nil {
		e = &entry[K, V]{key: key, ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
		b.queued[key] = e
		b.queue = append(b.queue, e)
	}
	e.waiters++
	e.callers = append(e.callers, ctx)
	b.startLocked() //nolint:contextcheck // a call outlives the callers that share it; each entry carries its values
	return e
}

func (b *Batcher[K, V]) leave(e *entry[K, V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.waiters--
	if e.waiters > 0 {
		return
	}
	if e.run != nil {
		e.run.waiting--
		if e.run.waiting == 0 {
			e.run.cancel()
		}
		return
	}
	b.dropLocked(func(q *entry[K, V]) bool { return q == e })
}

// dropLocked removes entries from the queue and the index, so that a later request for their key starts over.
func (b *Batcher[K, V]) dropLocked(unwanted func(*entry[K, V]) bool) {
	b.queue = slices.DeleteFunc(b.queue, func(q *entry[K, V]) bool {
		if !unwanted(q) {
			return false
		}
		delete(b.queued, q.key)
		return true
	})
}

// isAbandoned reports whether every caller's context has ended. Callers that share a context leave together,
// and the call that ends with the first of them must not start another for the rest.
func (e *entry[K, V]) isAbandoned() bool {
	return !slices.ContainsFunc(e.callers, func(ctx context.Context) bool { return ctx.Err() == nil })
}

// startLocked starts a call for the queued keys, after the window, unless one is in flight.
func (b *Batcher[K, V]) startLocked() {
	if b.inFlight || len(b.queue) == 0 {
		return
	}
	b.inFlight = true
	if b.options.Window == 0 {
		b.callLocked()
		return
	}
	ctx := b.queue[0].ctx
	go func() {
		_ = clocks.Sleep(ctx, b.options.Clock, b.options.Window) // ctx does not end
		b.mu.Lock()
		defer b.mu.Unlock()
		b.callLocked()
	}()
}

// callLocked starts the call for the keys that are queued now.
func (b *Batcher[K, V]) callLocked() {
	b.dropLocked((*entry[K, V]).isAbandoned)
	n := len(b.queue)
	if n == 0 {
		b.inFlight = false
		return
	}
	if b.options.MaxSize > 0 {
		n = min(n, b.options.MaxSize)
	}
	entries := b.queue[:n:n]
	b.queue = b.queue[n:]
	ctx, cancel := context.WithTimeout(entries[0].ctx, b.options.Timeout)
	r := &run{cancel: cancel, waiting: n}
	for _, e := range entries {
		e.run = r
		delete(b.queued, e.key)
	}
	go func() {
		defer cancel()
		b.serve(ctx, entries)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inFlight = false
		b.startLocked() //nolint:contextcheck // the next call serves other callers
	}()
}

// serve makes the call for entries and distributes the results; it splits the call in halves if Split accepts
// the error.
func (b *Batcher[K, V]) serve(ctx context.Context, entries []*entry[K, V]) {
	keys := make([]K, len(entries))
	for i, e := range entries {
		keys[i] = e.key
	}
	if b.options.Provider != "" {
		shared().size.WithLabelValues(b.options.Provider, b.options.Operation).Observe(float64(len(keys)))
	}
	var values map[K]V
	err := panics.Do(func() (err error) {
		values, err = b.call(ctx, keys)
		return err
	})
	if err != nil && len(entries) > 1 && ctx.Err() == nil && b.options.Split != nil && b.options.Split(err) {
		half := len(entries) / 2
		b.serve(ctx, entries[:half])
		b.serve(ctx, entries[half:])
		return
	}
	for _, e := range entries {
		if err != nil {
			e.err = err
		} else {
			e.value, e.found = values[e.key]
		}
		close(e.done)
	}
}
