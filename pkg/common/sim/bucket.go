package sim

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// Keys of FrontOptions.Limits. More specific keys are "SERVICE/read", "SERVICE/write" and
// "SERVICE/OPERATION"; a call uses the most specific existing bucket only.
const (
	ClassRead  = "read"
	ClassWrite = "write"
)

// Bucket is a token bucket: Burst calls at once, refilled at Rate calls per second.
type Bucket struct {
	// Rate is in calls per second; 0 or less means no limit.
	Rate float64
	// Burst is the burst size; less than 1 means 1.
	Burst int
}

// buckets are the limits of a front. Safe for concurrent use.
type buckets map[string]*rate.Limiter

func newBuckets(limits map[string]Bucket) buckets {
	b := buckets{}
	for key, l := range limits {
		if l.Rate > 0 {
			b[key] = rate.NewLimiter(rate.Limit(l.Rate), max(l.Burst, 1))
		}
	}
	return b
}

// reserve takes a token for op at the time now. Without one it returns the time until the next.
func (b buckets) reserve(op Operation, now time.Time) (wait time.Duration, ok bool) {
	limiter := b.limiterFor(op)
	if limiter == nil {
		return 0, true
	}
	r := limiter.ReserveN(now, 1)
	wait = r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// limiterFor returns the most specific bucket for op, or nil.
func (b buckets) limiterFor(op Operation) *rate.Limiter {
	class := ClassRead
	if op.Mutating {
		class = ClassWrite
	}
	for _, key := range []string{op.Service + "/" + op.Name, op.Service + "/" + class, class} {
		if limiter := b[key]; limiter != nil {
			return limiter
		}
	}
	return nil
}

// setRetryAfter writes the header in whole seconds, rounded up; 0 writes nothing.
func setRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}
