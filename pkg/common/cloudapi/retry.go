package cloudapi

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// Defaults of Retry. Four attempts with these waits take about two seconds, which outlasts a failover of a cloud's
// API and is shorter than a requeue.
const (
	DefaultAttempts  = 4
	DefaultRetryBase = 250 * time.Millisecond
	DefaultRetryMax  = 5 * time.Second
)

// Retry retries failed calls, for clients with an SDK that does not. The zero value has the defaults.
type Retry struct {
	// Attempts is the maximum number of attempts; 0 means DefaultAttempts, 1 disables retries.
	Attempts int
	// Base is the first wait, which doubles with each attempt up to Max. 0 means the default.
	Base, Max time.Duration
	// Clock is the clock of the waits. Nil is the real one.
	Clock clock.Clock
	// Random returns numbers in [0,1) for the jitter. Nil is math/rand.
	Random func() float64
}

// Next reports whether a call that failed with err in the given attempt (from 1) is retried, and after what wait. It
// depends on the class alone:
//
//   - Throttled: the cloud did nothing, so every call is retried, not before RetryAfter.
//   - Unavailable: the outcome is unknown. Reads and idempotent mutations are retried; other mutations never, because
//     they might be applied twice. Their caller must read the state first.
//   - All others: never. A retry would get the same response, or requires a decision of the caller.
//
// Next does not retry if the cloud requests more than two minutes; that is left to the caller's queue.
func (r Retry) Next(req Request, attempt int, err error) (wait time.Duration, retry bool) {
	if err == nil || attempt >= cmp.Or(r.Attempts, DefaultAttempts) {
		return 0, false
	}
	switch ClassOf(err) {
	case Throttled:
	case Unavailable:
		if req.Mutating && !req.Idempotent {
			return 0, false
		}
	default:
		return 0, false
	}
	wait = r.backoff(attempt)
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		if e.RetryAfter > maxPause {
			return 0, false
		}
		// Jitter spreads clients that got the same RetryAfter.
		wait = e.RetryAfter + time.Duration(r.random()*float64(cmp.Or(r.Base, DefaultRetryBase)))
	}
	return wait, true
}

// backoff returns an exponential backoff, half of it jitter.
func (r Retry) backoff(attempt int) time.Duration {
	maxWait := cmp.Or(r.Max, DefaultRetryMax)
	d := min(cmp.Or(r.Base, DefaultRetryBase), maxWait)
	for range attempt - 1 {
		if d *= 2; d >= maxWait {
			d = maxWait
			break
		}
	}
	return d/2 + time.Duration(r.random()*float64(d/2))
}

func (r Retry) random() float64 {
	if r.Random == nil {
		return rand.Float64()
	}
	return r.Random()
}

// Do makes a call, retries it as Next decides, and returns its last error. It stops at once if ctx is done, or if its
// deadline is before the end of the next wait.
func (r Retry) Do(ctx context.Context, req Request, call func(context.Context) error) error {
	c := clocks.OrReal(r.Clock)
	for attempt := 1; ; attempt++ {
		err := call(ctx)
		wait, retry := r.Next(req, attempt, err)
		if !retry || ctx.Err() != nil {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && c.Now().Add(wait).After(deadline) {
			return err
		}
		if clocks.Sleep(ctx, c, wait) != nil {
			return err
		}
	}
}
