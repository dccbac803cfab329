package loadbalancer

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// deletionMaxAge is how long the path of a deleted object is not used for another one. NSX-T removes an object at the
// purge after its realized state has ended.
const deletionMaxAge = 2 * api.PurgeTime

// deletions are the paths of deleted objects that NSX-T may not have removed yet. Another object of the same kind gets
// another ID until then, so that an edit can be reverted at once. It is safe for concurrent use.
type deletions struct {
	clock clock.PassiveClock

	mu sync.Mutex
	at map[string]time.Time
}

func newDeletions(c clock.PassiveClock) *deletions {
	return &deletions{clock: c, at: map[string]time.Time{}}
}

// record adds the path of a deleted object.
func (d *deletions) record(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at[path] = d.clock.Now()
}

// paths returns the paths; nil if there are none.
func (d *deletions) paths() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	maps.DeleteFunc(d.at, func(_ string, at time.Time) bool { return now.Sub(at) >= deletionMaxAge })
	if len(d.at) == 0 {
		return nil
	}
	out := make(map[string]bool, len(d.at))
	for path := range d.at {
		out[path] = true
	}
	return out
}
