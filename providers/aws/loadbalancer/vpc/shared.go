package vpc

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// shared is a value that all Services read: one of them fetches it, the others wait for the result.
type shared[T any] struct {
	clock clock.PassiveClock
	age   time.Duration
	read  func(context.Context) (T, error)
	// turn is held by the one caller that reads.
	turn chan struct{}

	mu     sync.Mutex
	value  T
	readAt time.Time
}

func newShared[T any](c clock.PassiveClock, age time.Duration, read func(context.Context) (T, error)) *shared[T] {
	return &shared[T]{clock: c, age: age, read: read, turn: make(chan struct{}, 1)}
}

// get returns a value that is at most s.age old. A failed read is nobody else's: the next in line tries itself.
func (s *shared[T]) get(ctx context.Context) (T, error) {
	return s.newer(ctx, s.clock.Now().Add(-s.age))
}

// newer returns a value that was read after a time.
func (s *shared[T]) newer(ctx context.Context, than time.Time) (T, error) {
	if value, ok := s.lookup(than); ok {
		return value, nil
	}
	var zero T
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return zero, ctx.Err()
	}
	if value, ok := s.lookup(than); ok {
		return value, nil
	}
	started := s.clock.Now()
	value, err := s.read(ctx)
	if err != nil {
		return zero, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.readAt = value, started
	return value, nil
}

func (s *shared[T]) lookup(than time.Time) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, !s.readAt.IsZero() && s.readAt.After(than)
}
