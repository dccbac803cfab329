package snapshot

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
)

// ValueOptions configures a Value. Read and Clock are required.
type ValueOptions[T any] struct {
	// Read returns the current value. Calls are serialized; each uses its caller's context. The value is shared:
	// callers must not modify what it points to.
	Read  func(context.Context) (T, error)
	Clock clock.PassiveClock
	// MaxAge is the max age for a value to count as fresh; zero keeps the first one forever.
	MaxAge time.Duration
	// RetryAfter is how long the error of a failed read is returned to all callers, for reads that take long to
	// fail. Zero caches no error: the next caller reads again. The end of a caller's context is never cached: it
	// does not predict the next read.
	RetryAfter time.Duration
}

// Value is a single value that is read on demand. Concurrent callers share one read, and each waits no longer
// than its context allows. It is safe for concurrent use.
type Value[T any] struct {
	options ValueOptions[T]
	// reading serializes reads.
	reading locks.Mutex

	mu     sync.Mutex
	value  T
	known  bool
	readAt time.Time
	// err is the error of the last read, nil if it succeeded, and failedAt its time.
	err      error
	failedAt time.Time
}

// NewValue returns a Value. It reads nothing.
func NewValue[T any](o ValueOptions[T]) *Value[T] {
	return &Value[T]{options: o}
}

// Get returns a fresh value. The error is that of the read, or of ctx.
func (v *Value[T]) Get(ctx context.Context) (T, error) {
	return v.obtain(ctx, v.isFresh)
}

// GetSince returns a value that was read at oldest or later, whatever its age: for callers that know about a
// change that older reads cannot show.
func (v *Value[T]) GetSince(ctx context.Context, oldest time.Time) (T, error) {
	return v.obtain(ctx, func() bool { return !v.readAt.Before(oldest) })
}

// Peek returns the last value that was read, whatever its age, and whether there is one. It reads nothing.
func (v *Value[T]) Peek() (T, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, v.known
}

func (v *Value[T]) isFresh() bool {
	return v.options.MaxAge == 0 || v.options.Clock.Since(v.readAt) < v.options.MaxAge
}

// obtain returns the cached value if accept reports so, and reads it otherwise. It calls accept under the lock.
func (v *Value[T]) obtain(ctx context.Context, accept func() bool) (T, error) {
	if value, err, ok := v.lookup(accept); ok {
		return value, err
	}
	var none T
	unlock, err := v.reading.Lock(ctx)
	if err != nil {
		return none, err
	}
	defer unlock()
	// Another caller may have read in the meantime.
	if value, err, ok := v.lookup(accept); ok {
		return value, err
	}
	// The age counts from here, since the result may show the state of any later moment.
	started := v.options.Clock.Now()
	value, err := v.options.Read(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil:
		v.value, v.known, v.readAt, v.err = value, true, started, nil
		return value, nil
	case ctx.Err() == nil:
		v.err, v.failedAt = err, v.options.Clock.Now()
	}
	return none, err
}

// lookup returns the cached value or error, if there is one to return without a read.
//
//nolint:revive // the error is part of what is known
func (v *Value[T]) lookup(accept func() bool) (value T, err error, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.known && accept():
		return v.value, nil, true
	case v.err != nil && v.options.Clock.Since(v.failedAt) < v.options.RetryAfter:
		return value, v.err, true
	}
	return value, nil, false
}
