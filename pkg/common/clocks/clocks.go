// Package clocks adds to k8s.io/utils/clock a sleep on an injected clock that ends with a context.
package clocks

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// OrReal returns c, or the real clock if c is nil, so that a zero options struct works.
func OrReal(c clock.Clock) clock.Clock {
	if c == nil {
		return clock.RealClock{}
	}
	return c
}

// Sleep waits for d on c. It returns the context's error as soon as the context ends, also when d
// is zero or negative, and nil otherwise.
func Sleep(ctx context.Context, c clock.Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
