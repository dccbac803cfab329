package apply

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// MinTagsBackoff and maxTagsBackoff bound the backoff after denied tags of floating IPs.
	MinTagsBackoff = 10 * time.Minute
	maxTagsBackoff = 6 * time.Hour
)

// denials counts consecutive denials of an optional request, which is retried with exponential backoff. It is safe for
// concurrent use.
type denials struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	count int
	until time.Time
}

// add records a denial. Concurrent ones count once.
func (d *denials) add() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	if now.Before(d.until) {
		return
	}
	d.until = now.Add(min(MinTagsBackoff<<min(d.count, 10), maxTagsBackoff))
	d.count++
}

// reset records that the request was granted.
func (d *denials) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count, d.until = 0, time.Time{}
}

// state reports whether the last request was denied, and whether the next one has to wait.
func (d *denials) state() (denied, wait bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count > 0, d.clock.Now().Before(d.until)
}
