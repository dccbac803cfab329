package guard

import (
	"context"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// admission counts the calls in flight, so that a process that ends can wait for them. The framework has no such
// wait: without it, a process ends in the middle of a call, and the cloud has an object that no reply named.
type admission struct {
	// stop ends when no further calls are admitted.
	stop context.Context
	end  context.CancelFunc

	mu    sync.Mutex
	calls int
	// idle is closed when the last call has ended after stop. Nil before.
	idle chan struct{}
}

func newAdmission() *admission {
	a := &admission{}
	a.stop, a.end = context.WithCancel(context.Background())
	return a
}

// enter admits a call, and returns its context. After close it blocks until ctx ends: an error would be an Event on
// each Service and Node that the process is not going to work on.
func (a *admission) enter(ctx context.Context) (context.Context, error) {
	a.mu.Lock()
	admitted := a.idle == nil
	if admitted {
		a.calls++
	}
	a.mu.Unlock()
	if !admitted {
		<-ctx.Done()
		return ctx, ctx.Err()
	}
	return plan.WithStop(ctx, a.stop), nil
}

// leave ends a call that enter has admitted.
func (a *admission) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls--
	if a.idle != nil && a.calls == 0 {
		close(a.idle)
	}
}

// close admits no further calls, and waits until those in flight have ended or ctx ends. It returns the number of calls
// that are still in flight. It is called once.
func (a *admission) close(ctx context.Context) int {
	a.mu.Lock()
	a.idle = make(chan struct{})
	if a.calls == 0 {
		close(a.idle)
	}
	a.mu.Unlock()
	a.end()
	select {
	case <-a.idle:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}
