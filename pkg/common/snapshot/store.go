package snapshot

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Store orders the reads and writes of its tables, and records the owners of uncertain objects. It is safe
// for concurrent use.
type Store struct {
	clock      clock.PassiveClock
	generation atomic.Uint64

	mu sync.Mutex
	// uncertain holds the generation at which each owner was last marked.
	uncertain map[string]uint64
}

// NewStore returns a Store without tables.
func NewStore(c clock.PassiveClock) *Store {
	return &Store{clock: c, uncertain: map[string]uint64{}}
}

// Reading is the start of a read: of an object, of a list, or of several that belong together.
type Reading struct {
	generation uint64
	at         time.Time
}

// At returns the start of the read: the oldest state that its result can show.
func (r Reading) At() time.Time { return r.at }

// After reports whether the read started after another one.
func (r Reading) After(other Reading) bool { return r.generation > other.generation }

// Begin starts a read. Call it before sending the request, and pass the Reading along with the result.
func (s *Store) Begin() Reading {
	return Reading{generation: s.generation.Add(1), at: s.clock.Now()}
}

// recordWrite returns the next generation, for a write that has just completed.
func (s *Store) recordWrite() uint64 { return s.generation.Add(1) }

// MarkUncertain records that a write failed and may have been applied nevertheless: the objects of this
// owner, such as a Service or a single object, have to be read before use.
func (s *Store) MarkUncertain(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uncertain[owner] = s.recordWrite()
}

// IsUncertain reports whether an owner was marked and not confirmed since.
func (s *Store) IsUncertain(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, marked := s.uncertain[owner]
	return marked
}

// Confirm records that all objects of an owner were read. A mark that is newer than the start of the read
// stays.
func (s *Store) Confirm(owner string, r Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uncertain[owner] <= r.generation {
		delete(s.uncertain, owner)
	}
}
