// Package refusal remembers what AWS refused although what it replaces was removed before.
package refusal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// FirstAge and LastAge bound how long what AWS refused is not tried again: each attempt closes ports or leaves a zone
// for a moment, and breaks connections. The cause may end soon, such as a certificate that is not yet issued, so the
// time is short at first. It doubles with each refusal.
const (
	FirstAge = time.Minute
	LastAge  = 24 * time.Hour
)

// forgetAge is the time after which a place is forgotten: its Service is deleted, or nothing has been tried since.
const forgetAge = 2 * LastAge

// Memory has what is unfinished at the places of load balancers, such as ports: the last refusals, and what was removed
// for something that does not exist yet. It is safe for concurrent use.
type Memory[T any] struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// places are by the name of the load balancer, then by place.
	places map[string]map[string]*place[T]
}

// NewMemory returns an empty Memory.
func NewMemory[T any](c clock.PassiveClock) *Memory[T] {
	return &Memory[T]{clock: c, places: map[string]map[string]*place[T]{}}
}

// place is what is unfinished at a place.
type place[T any] struct {
	changed time.Time
	// want is the text of what AWS refused, "" for nothing, with its error.
	want string
	err  error
	// age is the time between the refusal and until.
	age   time.Duration
	until time.Time
	// removed is nil if nothing is missing.
	removed *T
}

// at returns a place, a new one if it is not known. It forgets old ones.
func (m *Memory[T]) at(name, where string) *place[T] {
	now := m.clock.Now()
	for _, places := range m.places {
		maps.DeleteFunc(places, func(_ string, p *place[T]) bool { return now.Sub(p.changed) > forgetAge })
	}
	maps.DeleteFunc(m.places, func(_ string, places map[string]*place[T]) bool { return len(places) == 0 })
	if m.places[name] == nil {
		m.places[name] = map[string]*place[T]{}
	}
	if m.places[name][where] == nil {
		m.places[name][where] = &place[T]{}
	}
	m.places[name][where].changed = now
	return m.places[name][where]
}

// Add records that AWS refused the wanted texts of places. It returns the error with the time of the next attempt.
func (m *Memory[T]) Add(name string, want map[string]string, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, first := m.clock.Now(), LastAge
	for where, text := range want {
		p, age := m.at(name, where), FirstAge
		if p.want == text {
			age = min(2*p.age, LastAge)
		}
		p.want, p.age, p.until = text, age, now.Add(age)
		first = min(first, age)
	}
	err = fmt.Errorf("%w; the same is not tried again before %s", err, now.Add(first).UTC().Format(time.RFC3339))
	for where := range want {
		m.places[name][where].err = err
	}
	return err
}

// Of returns the error with which AWS refused the same at a place before, nil if it did not or if it is time to try
// again.
func (m *Memory[T]) Of(name, where, want string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[name][where]
	if p == nil || p.want != want || !m.clock.Now().Before(p.until) {
		return nil
	}
	return p.err
}

// Remove records what is about to be removed from a place, until something is made there.
func (m *Memory[T]) Remove(name, where string, what T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at(name, where).removed = &what
}

// Removed returns what was removed from places, and is missing: nothing was made there since.
func (m *Memory[T]) Removed(name string, where ...string) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []T
	for _, w := range where {
		if p := m.places[name][w]; p != nil && p.removed != nil {
			missing = append(missing, *p.removed)
		}
	}
	return missing
}

// Restored records that what was removed from a place is there again. Its refusal stays known.
func (m *Memory[T]) Restored(name, where string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.places[name][where]; p != nil {
		p.removed = nil
	}
}

// Keep forgets refusals unless the same is still wanted at their places, and all about places where nothing is: the
// Service was edited since, and may get the same settings again once AWS accepts them.
func (m *Memory[T]) Keep(name string, want map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.places[name], func(where string, p *place[T]) bool {
		text, wanted := want[where]
		if wanted && text != p.want {
			p.want, p.err = "", nil
		}
		return !wanted || p.want == "" && p.removed == nil
	})
}

// Made forgets places: what is wanted there was made.
func (m *Memory[T]) Made(name string, where ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.places[name], func(w string, _ *place[T]) bool { return slices.Contains(where, w) })
}

// Forget forgets all about a load balancer.
func (m *Memory[T]) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, name)
}

// firstWait is the first wait before a call that AWS was too busy to make is repeated.
const firstWait = time.Second

// Insist makes what replaces something that was removed, or makes that again. It repeats the call for some seconds if
// AWS is busy, because a port is closed or a zone not served meanwhile. The call must be idempotent.
func Insist(ctx context.Context, c clock.Clock, call func(context.Context) error) error {
	retry := cloudapi.Retry{Base: firstWait, Clock: c}
	return retry.Do(ctx, cloudapi.Request{Mutating: true, Idempotent: true}, call)
}

// Restore makes again what was removed for something that AWS refused, as Insist does. It returns the error of the
// refusal, which names what could not be restored.
func Restore(ctx context.Context, c clock.Clock, removed string, refusal error,
	again func(context.Context) error) error {
	if err := Insist(ctx, c, again); err != nil {
		return fmt.Errorf("%w; restoring the %s before failed: %w", refusal, removed, err)
	}
	return refusal
}
