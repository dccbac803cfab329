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

// longestHold is how long a cloud's Retry-After is obeyed at most. It covers the windows in which
// clouds count calls (seconds to a minute); to wait longer is the work queue's business, where no
// worker is kept meanwhile.
const longestHold = 2 * time.Minute

// Limits are the rate limits that the manager keeps by itself. A service that is not named gets
// buckets of its own by Default.
type Limits struct {
	Default  ServiceLimits
	Services map[string]ServiceLimits
	// ObeyRetryAfter holds a bucket back when the cloud throttles and says for how long.
	ObeyRetryAfter bool
}

// ServiceLimits are the limits of one service. Reads and mutations have a bucket each, so that a
// burst of lists cannot keep a deletion waiting.
type ServiceLimits struct{ Read, Mutate Limit }

// Limit is a token bucket.
type Limit struct {
	// QPS is in requests per second; 0 or less means no limit.
	QPS float64
	// Burst is how many requests may go out at once after a pause; less than 1 means 1.
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

// limiter holds the buckets of one transport. Safe for concurrent use.
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

// of returns the bucket for a request.
func (l *limiter) of(r Request) *bucket {
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

// acquire waits for a token and returns how long it waited. It returns a Throttled error at once
// if the token would come after ctx's deadline, and ctx's error if that ends first; neither takes a token.
func (l *limiter) acquire(ctx context.Context, b *bucket, operation string) (time.Duration, error) {
	start := l.clock.Now()
	wait, reserved := b.reserve(start)
	for wait > 0 {
		now := l.clock.Now()
		if deadline, ok := ctx.Deadline(); ok && now.Add(wait).After(deadline) {
			b.cancel(reserved, now)
			return now.Sub(start), tooLate(operation, wait, deadline.Sub(now))
		}
		if err := clocks.Sleep(ctx, l.clock, wait); err != nil {
			now = l.clock.Now()
			b.cancel(reserved, now)
			return now.Sub(start), err
		}
		// The cloud may have asked for patience while this request was waiting.
		wait = b.held(l.clock.Now())
	}
	return l.clock.Since(start), nil
}

func tooLate(operation string, wait, left time.Duration) error {
	return &Error{
		Class:      Throttled,
		Operation:  operation,
		RetryAfter: wait,
		Err: fmt.Errorf("not sent: the manager's own rate limit frees a slot in %v, and the request must end in %v",
			wait.Round(time.Millisecond), max(left, 0).Round(time.Millisecond)),
	}
}

// bucket is one token bucket that can be held back. Safe for concurrent use.
type bucket struct {
	// tokens is nil where there is no limit.
	tokens *rate.Limiter

	mu    sync.Mutex
	until time.Time
}

// limited says whether the bucket has a limit of its own.
func (b *bucket) limited() bool { return b.tokens != nil }

// reserve takes a token that may come later, and says how long from now. Tokens are counted from
// the end of a hold on, so that what waited does not all leave at once.
func (b *bucket) reserve(now time.Time) (time.Duration, *rate.Reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.from(now)
	wait := at.Sub(now)
	if b.tokens == nil {
		return wait, nil
	}
	r := b.tokens.ReserveN(at, 1)
	return wait + r.DelayFrom(at), r
}

// cancel gives a reserved token back.
func (b *bucket) cancel(r *rate.Reservation, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r != nil {
		r.CancelAt(b.from(now))
	}
}

// hold lets nothing pass for d. A hold never shortens one that is in force.
func (b *bucket) hold(now time.Time, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := now.Add(min(d, longestHold)); until.After(b.until) {
		b.until = until
	}
}

// held says how long a hold lasts from now.
func (b *bucket) held(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.from(now).Sub(now)
}

// from returns now, or the end of a hold that is later.
func (b *bucket) from(now time.Time) time.Time {
	if b.until.After(now) {
		return b.until
	}
	return now
}
