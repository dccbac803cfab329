package loadbalancer

import (
	"context"
	"sync"
)

// turns lets one change after the other be made to a load balancer, or to a port of a node, however
// many Services share it. Waiting ends with the context.
type turns struct {
	mu   sync.Mutex
	held map[string]*turn
}

// turn is one object's lock: a channel with room for one holder.
type turn struct {
	holder chan struct{}
	users  int
}

func newTurns() *turns { return &turns{held: map[string]*turn{}} }

// take waits for the object's turn. The function that it returns ends it, and is called exactly once.
func (t *turns) take(ctx context.Context, id string) (func(), error) {
	t.mu.Lock()
	one, ok := t.held[id]
	if !ok {
		one = &turn{holder: make(chan struct{}, 1)}
		t.held[id] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case one.holder <- struct{}{}:
		return func() { <-one.holder; t.leave(id, one) }, nil
	case <-ctx.Done():
		t.leave(id, one)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(id string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.held, id)
	}
}
