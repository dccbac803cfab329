package cloudapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// Defaults of Retry. Four attempts with these waits take about two seconds, which outlasts a
// failover behind a cloud's API and keeps a worker for less time than a requeue would cost.
const (
	DefaultAttempts  = 4
	DefaultRetryBase = 250 * time.Millisecond
	DefaultRetryMax  = 5 * time.Second
)

// Retry decides whether and when a failed call is made again, for clients whose SDK does not.
// The zero value has the defaults.
type Retry struct {
	// Attempts is how many calls are made in all; 0 means DefaultAttempts, 1 never repeats.
	Attempts int
	// Base is the first wait, which doubles with each attempt up to Max. 0 means the default.
	Base, Max time.Duration
	// Clock is what waits go by. Nil is the real one.
	Clock clock.Clock
	// Random returns numbers in [0,1) for the jitter. Nil is math/rand.
	Random func() float64
}

// Next says whether a call that failed with err in the given attempt (from 1) is made again, and
// after what wait. It decides by the class alone:
//
//   - Throttled: the cloud did nothing, so every call is made again, not before RetryAfter.
//   - Unavailable: nothing is known about what was done. Reads and idempotent mutations are made
//     again; other mutations never, because they might be done twice. Their caller must look first.
//   - All others: never. The same call would get the same answer, or it needs a caller who decides.
//
// A cloud that asks for more than two minutes is left to the caller's own queue.
func (r Retry) Next(req Request, attempt int, err error) (wait time.Duration, again bool) {
	if err == nil || attempt >= orDefault(r.Attempts, DefaultAttempts) {
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
		if e.RetryAfter > longestHold {
			return 0, false
		}
		// The jitter comes on top, so that those who were told the same do not return together.
		wait = e.RetryAfter + time.Duration(r.random()*float64(orDefault(r.Base, DefaultRetryBase)))
	}
	return wait, true
}

// backoff is half fixed, half random, and doubles with each attempt.
func (r Retry) backoff(attempt int) time.Duration {
	longest := orDefault(r.Max, DefaultRetryMax)
	d := min(orDefault(r.Base, DefaultRetryBase), longest)
	for range attempt - 1 {
		if d *= 2; d >= longest {
			d = longest
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

// Do makes a call until it succeeds or Next says to stop, and returns its last error. It stops at
// once if ctx has ended, or would end during the next wait.
func (r Retry) Do(ctx context.Context, req Request, call func(context.Context) error) error {
	c := clocks.OrReal(r.Clock)
	for attempt := 1; ; attempt++ {
		err := call(ctx)
		wait, again := r.Next(req, attempt, err)
		if !again || ctx.Err() != nil {
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

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
