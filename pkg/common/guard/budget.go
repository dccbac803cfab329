package guard

import (
	"sync"
	"time"
)

// unidentified is the name of the cloud of Unidentified, and the label of its metrics.
const unidentified = "all"

// Budget limits how many Nodes are deleted within an interval: those of each cloud, and those that may be of any cloud
// together with all others. It is safe for concurrent use.
type Budget struct {
	mu      sync.Mutex
	allowed map[string][]time.Time // by provider, oldest first
}

// NewBudget returns a budget from which nothing was taken.
func NewBudget() *Budget { return &Budget{allowed: map[string][]time.Time{}} }

// take counts one more deletion of a provider, unless the number within the interval has reached the limit, which is
// negative for none. It returns that number.
func (b *Budget) take(provider string, now time.Time, interval time.Duration, limit int) (deleted int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	for name, times := range b.allowed {
		for len(times) > 0 && now.Sub(times[0]) >= interval {
			times = times[1:]
		}
		b.allowed[name] = times
		total += len(times)
	}
	deleted = len(b.allowed[provider])
	if provider == unidentified {
		deleted = total
	}
	if limit >= 0 && deleted >= limit {
		return deleted, false
	}
	b.allowed[provider] = append(b.allowed[provider], now)
	return deleted, true
}
