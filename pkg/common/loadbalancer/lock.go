package loadbalancer

import (
	"context"
	"sync"
)

// keyedLock is a lock for each name. Waiting ends with the context, and names that nobody holds
// or waits for take no memory.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]*slot
}

// slot is one name's lock: a channel with room for one holder.
type slot struct {
	turn  chan struct{}
	users int
}

func newKeyedLock() *keyedLock { return &keyedLock{held: map[string]*slot{}} }

// lock waits for the name's turn. The function it returns gives the turn to the next one, and is
// to be called exactly once. The error is the context's.
func (l *keyedLock) lock(ctx context.Context, name string) (unlock func(), err error) {
	l.mu.Lock()
	s, ok := l.held[name]
	if !ok {
		s = &slot{turn: make(chan struct{}, 1)}
		l.held[name] = s
	}
	s.users++
	l.mu.Unlock()

	if err := ctx.Err(); err != nil {
		l.leave(name, s)
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn; l.leave(name, s) }, nil
	case <-ctx.Done():
		l.leave(name, s)
		return nil, ctx.Err()
	}
}

func (l *keyedLock) leave(name string, s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.held, name)
	}
}

// keySet is a set of names that is safe for concurrent use.
type keySet struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func newKeySet() *keySet { return &keySet{names: map[string]struct{}{}} }

func (s *keySet) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = struct{}{}
}

// take removes the name and says whether it was there.
func (s *keySet) take(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.names[name]
	delete(s.names, name)
	return ok
}
