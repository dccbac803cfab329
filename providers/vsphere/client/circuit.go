package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

const (
	// minWait and maxWait bound the time that a caller waits for a call. The framework's loops visit nodes
	// one by one, so that a silent vCenter must not occupy them for long.
	minWait = 5 * time.Second
	maxWait = 30 * time.Second
	// waitFactor relates the wait to the slowest recent call.
	waitFactor = 4
	// retryAfter is the time between calls to a vCenter that does not answer.
	retryAfter = 10 * time.Second
)

// callTimeout bounds one call with its retries and, if necessary, a login. A property collection of ten thousand
// machines takes less.
const callTimeout = time.Minute

// circuit is the circuit breaker of a vCenter. A call that takes far longer than the calls before it continues
// without its caller. Until it ends, and for a while after a failed call, all other calls fail at once: nodes of
// other vCenters do not wait for this one. It is safe for concurrent use.
type circuit struct {
	name  string
	clock clock.Clock

	mu sync.Mutex
	// err is the reason of an open circuit; nil while it is closed.
	err     error
	retryAt time.Time
	// probing is set while a call is in flight that may close the circuit.
	probing bool
	// slowest is the duration of the slowest recent call.
	slowest time.Duration
}

func newCircuit(name string, c clock.Clock) *circuit { return &circuit{name: name, clock: c} }

// enter returns how long the caller of a new call waits for it, or the error of an open circuit.
func (c *circuit) enter() (wait time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		if c.probing || c.clock.Now().Before(c.retryAt) {
			return 0, c.err
		}
		c.probing = true
	}
	return min(max(minWait, waitFactor*c.slowest), maxWait), nil
}

// inFlight is one call. The circuit's mutex guards it.
type inFlight struct{ ended bool }

// exit records the result of a call.
func (c *circuit) exit(f *inFlight, duration time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.ended = true
	c.probing = false
	if cloudapi.Is(err, cloudapi.Unavailable) {
		c.err, c.retryAt = err, c.clock.Now().Add(retryAfter)
		return
	}
	if !cloudapi.Is(err, cloudapi.Canceled) {
		c.err = nil
		// One slow call counts for a few calls after it.
		c.slowest = max(duration, c.slowest*3/4)
	}
}

// open opens the circuit while a call is still in flight, and returns the reason. It returns nil if the call has ended:
// then nothing would close the circuit.
func (c *circuit) open(f *inFlight, method string, waited time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.ended {
		return nil
	}
	c.probing = true
	c.err = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: method,
		Err: fmt.Errorf("vCenter %s has not answered for %v", c.name, waited)}
	return c.err
}

// patientKey is the context key of a call that nobody waits for. A page of a large collection takes long in a vCenter
// that answers everything else.
type patientKey struct{}

// callDetached makes a call that may take longer than its caller waits. The call gets a context that outlives that of
// its caller, because a login or a collection that was started serves others too.
func callDetached[T any](
	ctx context.Context, c *circuit, method string, call func(context.Context) (T, error),
) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	wait, err := c.enter()
	if err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	started, current := c.clock.Now(), &inFlight{}
	go func() {
		defer cancel()
		value, err := panics.Value(func() (T, error) { return call(detached) })
		c.exit(current, c.clock.Since(started), err)
		done <- result{value, err}
	}()
	if ctx.Value(patientKey{}) != nil {
		select {
		case r := <-done:
			return r.value, r.err
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	timer := c.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-timer.C():
		if err := c.open(current, method, wait); err != nil {
			return none, err
		}
		r := <-done
		return r.value, r.err
	}
}
