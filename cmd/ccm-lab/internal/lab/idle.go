package lab

import "time"

// Idle detects that a count of calls to the cloud has not changed for a period.
type Idle struct {
	period time.Duration
	count  func() int
	last   int
	since  time.Time
}

// NewIdle starts the period.
func NewIdle(period time.Duration, count func() int) *Idle {
	return &Idle{period: period, count: count, last: count(), since: time.Now()}
}

// Reached reports whether the period has passed since the last change that a call of Reached has seen.
func (i *Idle) Reached() bool {
	if n := i.count(); n != i.last {
		i.last, i.since = n, time.Now()
	}
	return time.Since(i.since) >= i.period
}
