package instances

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

const (
	// burstReads is the burst size of the rate limiter for single reads: a usual step of an autoscaler, as
	// concurrent reads are one.
	burstReads = 4
	// listInterval is the time between two lists while machines are launched and join all the time, and
	// the time in which the rate limiter gains one read once they no longer do. A node waits this long at
	// worst, compared to the minutes that a machine takes to boot.
	listInterval = 5 * time.Second
)

// listPolicy decides between lists and single reads. It is safe for concurrent use.
type listPolicy struct {
	clock clock.PassiveClock
	store *snapshot.Store

	mu sync.Mutex
	// singleReads counts the instances that were read singly since the last list. At listAfter, a list is
	// due that starts after outdated.
	singleReads int
	outdated    snapshot.Reading
	// err is the error of the last list, nil if it succeeded. It was returned at failedAt.
	err      error
	failedAt time.Time
	// listDuration is the duration of the last list that succeeded.
	listDuration time.Duration
	// tokens are the single reads of joining nodes that are allowed now, filled at filledAt.
	tokens   float64
	filledAt time.Time
}

// countReads records single reads.
func (p *listPolicy) countReads(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.singleReads
	if p.singleReads += n; before < listAfter && p.singleReads >= listAfter {
		p.outdated = p.store.Begin()
	}
}

// recordList records the outcome of a list that started at r.
func (p *listPolicy) recordList(r snapshot.Reading, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err = err; err != nil {
		p.failedAt = p.clock.Now()
		return
	}
	p.listDuration = p.clock.Since(r.At())
	if r.After(p.outdated) {
		p.singleReads = 0
	}
}

// oldestRead returns the time at which an instance must have been read at the earliest to be no older than age: now if
// that is 0. Else it counts from the end of the last list: a list of thousands of instances may take longer than age,
// and would be outdated when it ends.
func (p *listPolicy) oldestRead(age time.Duration) time.Time {
	if age == 0 {
		return p.clock.Now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Now().Add(-age - p.listDuration)
}

// lastError returns the error of the last list if it failed within JoinMaxAge: then it is not tried again.
func (p *listPolicy) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil && p.clock.Since(p.failedAt) < JoinMaxAge {
		return p.err
	}
	return nil
}

// failedRecently reports whether the last list failed within JoinMaxAge.
func (p *listPolicy) failedRecently() bool { return p.lastError() != nil }

// needsList reports whether so many instances were read singly that a list is cheaper. The list has to start
// after the returned reading.
func (p *listPolicy) needsList() (snapshot.Reading, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outdated, p.singleReads >= listAfter
}

// allowSingleRead takes a token of the rate limiter for single reads of joining nodes. A few joins are
// answered at once; nodes that join faster share lists. While there is no token the limiter does not
// refill: nodes keep joining, and single reads would only add to the lists that they share.
func (p *listPolicy) allowSingleRead(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.filledAt.IsZero() {
		p.tokens = burstReads
	} else {
		p.tokens = min(burstReads, p.tokens+float64(now.Sub(p.filledAt))/float64(listInterval))
	}
	p.filledAt = now
	if p.tokens < 1 {
		p.tokens = 0
		return false
	}
	p.tokens--
	return true
}
