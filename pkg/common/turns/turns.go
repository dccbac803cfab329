// Package turns lets callers do something one after the other. Unlike a mutex, whoever waits stops
// when its context ends: the one whose turn it is may be waiting for a cloud.
package turns

import (
	"context"
	"sync"
)

// Turn is one thing that one caller does at a time. The zero value is nobody's turn. It is safe for
// concurrent use.
type Turn struct {
	once   sync.Once
	holder chan struct{}
}

// Take waits for the caller's turn, which lasts until it calls release, exactly once. The error is
// the context's, and then it is not the caller's turn.
func (t *Turn) Take(ctx context.Context) (release func(), err error) {
	t.once.Do(func() { t.holder = make(chan struct{}, 1) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case t.holder <- struct{}{}:
		return func() { <-t.holder }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Named are turns at many things, each with its name. Names at which it is nobody's turn take no
// memory. The zero value is ready, and safe for concurrent use.
type Named struct {
	mu    sync.Mutex
	turns map[string]*named
}

type named struct {
	Turn
	// users are those who wait, and the one whose turn it is.
	users int
}

// Take is Turn.Take for a name.
func (n *Named) Take(ctx context.Context, name string) (release func(), err error) {
	n.mu.Lock()
	one, ok := n.turns[name]
	if !ok {
		if n.turns == nil {
			n.turns = map[string]*named{}
		}
		one = &named{}
		n.turns[name] = one
	}
	one.users++
	n.mu.Unlock()

	end, err := one.Take(ctx)
	if err != nil {
		n.leave(name, one)
		return nil, err
	}
	return func() { end(); n.leave(name, one) }, nil
}

// Len is at how many names it is somebody's turn.
func (n *Named) Len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.turns)
}

func (n *Named) leave(name string, one *named) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(n.turns, name)
	}
}
