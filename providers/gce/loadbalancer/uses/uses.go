// Package uses remembers who uses objects, where no read shows it yet.
package uses

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

const (
	// KeepAge is how long an object stays after others used it.
	KeepAge = 10 * time.Minute
	// replaceAge is how much longer a pool is not replaced after others used it. Each attempt costs the forwarding rule.
	replaceAge = 24 * time.Hour
)

// Uses are what Services are about to refer to, and what others have used. It is safe for concurrent use.
type Uses struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// held counts the Services that are about to refer to an object, by its link.
	held map[string]int
	// kept are the objects that others used when they were to be deleted, or that failed to change.
	kept map[string]time.Time
}

// New returns Uses without any.
func New(c clock.PassiveClock) *Uses {
	return &Uses{clock: c, held: map[string]int{}, kept: map[string]time.Time{}}
}

// Hold keeps an object of all Services from being deleted until release is called.
func (u *Uses) Hold(link string) (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held[link]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.held[link]--; u.held[link] == 0 {
			delete(u.held, link)
		}
	}
}

// IsHeld reports whether a Service is about to refer to an object.
func (u *Uses) IsHeld(link string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held[link] > 0
}

// Held returns the objects that a Service is about to refer to, by path.
func (u *Uses) Held() map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[string]bool{}
	for link := range u.held {
		out[api.Path(link)] = true
	}
	return out
}

// Keep notes that others use an object that was to be deleted.
func (u *Uses) Keep(object string) { u.keep(object, 0) }

// KeepLong notes that others used a pool that was to be replaced, so that the next attempt is much later.
func (u *Uses) KeepLong(pool string) { u.keep(pool, replaceAge) }

func (u *Uses) keep(object string, longer time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept[object] = u.clock.Now().Add(longer)
}

// Kept returns the objects that others have used lately.
func (u *Uses) Kept() map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.kept, func(_ string, at time.Time) bool { return u.clock.Since(at) >= KeepAge })
	out := map[string]bool{}
	for object := range u.kept {
		out[object] = true
	}
	return out
}
