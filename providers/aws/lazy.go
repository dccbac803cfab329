package aws

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// retryAfterFailure is how soon a value that could not be made is tried again. Meanwhile all
// callers get the same error, since each try may take the whole time of a metadata service that does not answer.
const retryAfterFailure = 5 * time.Second

// lazy is a value that is made when it is first needed, once. It is safe for concurrent use.
type lazy[T any] struct {
	clock clock.PassiveClock
	build func(context.Context) (T, error)
	// turn is held by the one caller that builds.
	turn chan struct{}

	mu       sync.Mutex
	value    T
	done     bool
	err      error
	failedAt time.Time
}

func newLazy[T any](c clock.PassiveClock, build func(context.Context) (T, error)) *lazy[T] {
	return &lazy[T]{clock: c, build: build, turn: make(chan struct{}, 1)}
}

// get returns the value, and makes it if need be. A failure is remembered for a moment only.
func (l *lazy[T]) get(ctx context.Context) (T, error) {
	if value, err, known := l.lookup(); known {
		return value, err
	}
	var zero T
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return zero, ctx.Err()
	}
	if value, err, known := l.lookup(); known {
		return value, err
	}
	value, err := l.build(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.value, l.done, l.err = value, true, nil
	case ctx.Err() == nil:
		// A caller that gave up says nothing about the next one's chances.
		l.err, l.failedAt = err, l.clock.Now()
	}
	return value, err
}

func (l *lazy[T]) lookup() (value T, err error, known bool) { //nolint:revive // the error is part of what is known
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.value, nil, true
	}
	if l.err != nil && l.clock.Since(l.failedAt) < retryAfterFailure {
		return l.value, l.err, true
	}
	return value, nil, false
}

// now returns the value if it has been made.
func (l *lazy[T]) now() (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.done
}
