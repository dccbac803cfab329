package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// poller polls operations at one rate. It is safe for concurrent use.
type poller struct {
	options Options
	source  Source
	// limit is nil without a limit.
	limit *rate.Limiter
}

func newPoller(o Options, source Source) *poller {
	p := &poller{options: o, source: source}
	if o.Limit.QPS > 0 {
		p.limit = rate.NewLimiter(rate.Limit(o.Limit.QPS), max(o.Limit.Burst, 1))
	}
	return p
}

// untilDone polls an operation until it has ended, and returns its last known state. An error means that its end was
// not seen: ctx has ended, the budget is spent, or no further poll can succeed.
func (p *poller) untilDone(ctx context.Context, op Operation) (Operation, error) {
	interval, wait := p.options.Interval, max(p.options.First, op.RetryAfter)
	var failed error
	for range p.options.Budget {
		if err := p.pause(ctx, wait); err != nil {
			return op, err
		}
		start := p.options.Clock.Now()
		next, err := p.poll(ctx, op)
		wait = interval - p.options.Clock.Since(start)
		if failed = err; err != nil {
			if !isTransient(err) || ctx.Err() != nil {
				return op, p.pollError(op, err)
			}
			wait = max(wait, retryAfter(err))
		} else {
			op = next.with(op)
			if op.Done {
				return op, nil
			}
			if op.RetryAfter > 0 {
				wait = op.RetryAfter
			}
		}
		interval = min(interval+interval/2, p.options.MaxInterval)
	}
	return op, p.exhausted(op, failed)
}

// pause waits for d, and then for the rate of all polls.
func (p *poller) pause(ctx context.Context, d time.Duration) error {
	if err := clocks.Sleep(ctx, p.options.Clock, d); err != nil || p.limit == nil {
		return err
	}
	now := p.options.Clock.Now()
	reserved := p.limit.ReserveN(now, 1)
	if err := clocks.Sleep(ctx, p.options.Clock, reserved.DelayFrom(now)); err != nil {
		reserved.CancelAt(p.options.Clock.Now())
		return err
	}
	return nil
}

// poll makes one poll and counts it.
func (p *poller) poll(ctx context.Context, op Operation) (Operation, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.PollTimeout)
	defer cancel()
	next, err := p.source.Poll(ctx, op)
	result := pollRunning
	switch {
	case err != nil:
		result = pollFailed
	case next.Done:
		result = pollDone
	}
	shared().polls.WithLabelValues(p.options.Provider, result).Inc()
	return next, err
}

// isTransient reports whether the next poll may succeed. The operation continues meanwhile.
func isTransient(err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Conflict, cloudapi.Unknown)
}

// pollError returns the error of an operation without a readable state. The cloud's "not found" is about the operation,
// and must not be read as one about its target.
func (p *poller) pollError(op Operation, err error) error {
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: op.Name, Err: fmt.Errorf(
			"the outcome is unknown: the cloud does not have operation %s anymore: %w", op.ID, cloudapi.CauseOf(err))}
	}
	return fmt.Errorf("reading operation %s of %s: %w", op.ID, op.Name, err)
}

// exhausted returns the error of an operation that outlives the budget, with the error of the last poll, if any.
func (p *poller) exhausted(op Operation, failed error) error {
	err := fmt.Errorf("operation %s has not ended after %d polls", op.ID, p.options.Budget)
	if failed != nil {
		err = fmt.Errorf("%w; the last one failed: %w", err, cloudapi.CauseOf(failed))
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: op.Name, Err: err}
}

// retryAfter returns the wait that the cloud requested with an error.
func retryAfter(err error) time.Duration {
	var e *cloudapi.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
