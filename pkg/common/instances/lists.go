package instances

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
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

// list reads all instances. Concurrent callers share its error, which is returned again for a while.
func (i *Instances) list(ctx context.Context) ([]Instance, error) {
	if err := i.policy.lastError(); err != nil {
		return nil, err
	}
	r := i.store.Begin()
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := i.source.List(limited)
	if ctx.Err() != nil {
		return list, err // the error is this caller's own
	}
	i.policy.recordList(r, err)
	if err != nil {
		klog.FromContext(ctx).Info("Failed to list instances", "provider", i.options.Provider, "err", err)
	}
	return list, err
}

// refresh makes sure that the instances were listed at oldest or later, and that not too many were read
// singly since. It does nothing if the last list failed recently.
func (i *Instances) refresh(ctx context.Context, oldest time.Time) error {
	if i.policy.failedRecently() {
		return nil
	}
	err := i.known.RefreshSince(ctx, oldest)
	if outdated, listDue := i.policy.needsList(); err == nil && listDue {
		err = i.known.RefreshAfter(ctx, outdated)
	}
	return listError(ctx, err)
}

// awaitList waits for a list that starts after since, at least listInterval after the previous one.
func (i *Instances) awaitList(ctx context.Context, since snapshot.Reading) error {
	last, _ := i.known.Listed()
	if last.After(since) {
		return nil
	}
	if err := clocks.Sleep(ctx, i.options.Clock, last.At().Add(listInterval).Sub(i.options.Clock.Now())); err != nil {
		return err
	}
	return listError(ctx, i.known.RefreshAfter(ctx, since))
}

// listError returns nil for errors of lists after which single reads may still work: a cloud with a failed
// zone rejects unscoped lists. After throttling, single reads would only add calls.
func listError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || cloudapi.Is(err, cloudapi.Throttled, cloudapi.Canceled) {
		return err
	}
	return nil
}
