package cloudapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// maxPause bounds the pause after a Retry-After of the cloud. It covers the windows in which clouds count calls
// (seconds to a minute); longer waits are left to work queues, where they occupy no worker.
const maxPause = 2 * time.Minute

// Limits are client-side rate limits. A service that is not listed gets its own buckets with the limits of Default.
type Limits struct {
	Default  ServiceLimits
	Services map[string]ServiceLimits
	// ObeyRetryAfter pauses a bucket when the cloud throttles and sends Retry-After.
	ObeyRetryAfter bool
}

// ServiceLimits are the limits of a service. Reads and mutations have separate buckets, so that a burst of lists
// does not delay a deletion.
type ServiceLimits struct{ Read, Mutate Limit }

// Limit is a token bucket.
type Limit struct {
	// QPS is in requests per second; 0 or less means no limit.
	QPS float64
	// Burst is the burst size; less than 1 means 1.
	Burst int
}

// The two kinds of requests, as a metric label.
const (
	kindRead   = "read"
	kindMutate = "mutate"
)

func (r Request) kind() string {
	if r.Mutating {
		return kindMutate
	}
	return kindRead
}

// limiter holds the buckets of a transport. It is safe for concurrent use.
type limiter struct {
	limits Limits
	clock  clock.Clock

	mu      sync.Mutex
	buckets map[bucketKey]*bucket
}

type bucketKey struct{ service, kind string }

func newLimiter(limits Limits, c clock.Clock) *limiter {
	return &limiter{limits: limits, clock: c, buckets: map[bucketKey]*bucket{}}
}

// bucketFor returns the bucket of a request.
func (l *limiter) bucketFor(r Request) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := bucketKey{r.Service, r.kind()}
	if b := l.buckets[key]; b != nil {
		return b
	}
	service, ok := l.limits.Services[r.Service]
	if !ok {
		service = l.limits.Default
	}
	limit := service.Read
	if r.Mutating {
		limit = service.Mutate
	}
	b := &bucket{}
	if limit.QPS > 0 {
		b.tokens = rate.NewLimiter(rate.Limit(limit.QPS), max(limit.Burst, 1))
	}
	l.buckets[key] = b
	return b
}

// acquire waits for a token and returns the time that it waited. It returns an error of class Throttled at once if
// the next token is after the deadline of ctx, and the error of ctx if that ends first; neither consumes a token.
func (l *limiter) acquire(ctx context.Context, b *bucket, operation string) (time.Duration, error) {
	start := l.clock.Now()
	wait, reserved := b.reserve(start)
	for wait > 0 {
		now := l.clock.Now()
		if deadline, ok := ctx.Deadline(); ok && now.Add(wait).After(deadline) {
			b.cancel(reserved, now)
			return now.Sub(start), deadlineError(operation, wait, deadline.Sub(now))
		}
		if err := clocks.Sleep(ctx, l.clock, wait); err != nil {
			now = l.clock.Now()
			b.cancel(reserved, now)
			return now.Sub(start), err
		}
		// The bucket may have been paused while this request waited.
		wait = b.pausedFor(l.clock.Now())
	}
	return l.clock.Since(start), nil
}

func deadlineError(operation string, wait, remaining time.Duration) error {
	return &Error{
		Class:      Throttled,
		Operation:  operation,
		RetryAfter: wait,
		Err: fmt.Errorf("rate limited: the next slot is in %v, after the deadline in %v",
			wait.Round(time.Millisecond), max(remaining, 0).Round(time.Millisecond)),
	}
}

// bucket is a token bucket that can be paused. It is safe for concurrent use.
type bucket struct {
	// tokens is nil without a limit.
	tokens *rate.Limiter

	mu          sync.Mutex
	pausedUntil time.Time
}

// isLimited reports whether the bucket has a limit.
func (b *bucket) isLimited() bool { return b.tokens != nil }

// reserve reserves a token and returns the time until it is available. Tokens refill from the end of a pause on, so
// that waiting requests are not sent all at once.
func (b *bucket) reserve(now time.Time) (time.Duration, *rate.Reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	start := b.notBefore(now)
	wait := start.Sub(now)
	if b.tokens == nil {
		return wait, nil
	}
	r := b.tokens.ReserveN(start, 1)
	return wait + r.DelayFrom(start), r
}

// cancel returns a reserved token.
func (b *bucket) cancel(reservation *rate.Reservation, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reservation != nil {
		reservation.CancelAt(b.notBefore(now))
	}
}

// pause pauses the bucket for d. It never shortens a pause.
func (b *bucket) pause(now time.Time, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := now.Add(min(d, maxPause)); until.After(b.pausedUntil) {
		b.pausedUntil = until
	}
}

// pausedFor returns the remaining duration of a pause.
func (b *bucket) pausedFor(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notBefore(now).Sub(now)
}

// notBefore returns now, or the end of a pause if that is later.
func (b *bucket) notBefore(now time.Time) time.Time {
	if b.pausedUntil.After(now) {
		return b.pausedUntil
	}
	return now
}
