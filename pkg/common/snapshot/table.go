package snapshot

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
)

// Kind declares one kind of object. Each field is optional unless a used method of a Table needs it.
type Kind[T any] struct {
	// ID returns the unique ID of an object. Lists need it.
	ID func(T) string
	// List reads all objects of this kind.
	List func(context.Context) ([]T, error)
	// Covers reports whether List includes an object. Lists say nothing about other objects, which only single
	// reads find. Nil means that lists are complete.
	Covers func(T) bool
	// Read reads one object. An error of class NotFound means that it does not exist.
	Read func(ctx context.Context, id string) (T, error)
	// MaxAge is the max age for a list, or a single object, to count as fresh.
	MaxAge time.Duration
	// Settle bounds how long reads may miss an object that we created, and how long lists may return one that we
	// deleted. Zero is for strongly consistent clouds.
	Settle time.Duration
	// EvictAfter bounds how long an object stays that lists do not include and that is neither read nor written.
	// Zero means twice MaxAge, or forever without MaxAge.
	EvictAfter time.Duration
	// Index returns the keys under which Lookup finds an object, such as its name or its parent.
	Index func(T) []string
}

// Table caches one kind of object, by ID. It is safe for concurrent use. Values are shared between callers,
// who must not modify what they point to.
type Table[T any] struct {
	store *Store
	kind  Kind[T]
	// listing serializes lists.
	listing locks.Mutex

	mu   sync.Mutex
	rows map[string]row[T]
	keys map[string]map[string]bool
	// all is a copy of the existing objects, nil after a change. It is returned to callers and never modified.
	all map[string]T
	// listed is the last complete list; a usable list must be newer than the generation invalid.
	listed    Reading
	invalid   uint64
	evictedAt time.Time
	details   []detail
}

// tombstoneAge is how long a tombstone is kept. No read takes longer, so a read that started before cannot
// restore the object.
const tombstoneAge = 10 * time.Minute

// row is the cached state of one object. Rows are replaced, never modified.
type row[T any] struct {
	value T
	// exists is false for a tombstone: the object does not exist, or its state is unknown.
	exists bool
	// generation is the generation of the read or write that the row comes from.
	generation uint64
	// readAt is the start of the read that the row comes from; writes that change a row keep it. It is zero if a
	// write left the object's state unknown.
	readAt time.Time
	// createdAt and deletedAt are when we created or deleted the object; zero if we did not.
	createdAt, deletedAt time.Time
	// confirmedAt is when the row was last replaced.
	confirmedAt time.Time
}

// detail is a table of details of another table's objects.
type detail interface {
	forget(id string, generation uint64)
}

// NewTable returns an empty table. It reads nothing.
func NewTable[T any](s *Store, k Kind[T]) *Table[T] {
	if k.EvictAfter == 0 {
		k.EvictAfter = 2 * k.MaxAge
	}
	return &Table[T]{store: s, kind: k, rows: map[string]row[T]{}, keys: map[string]map[string]bool{}}
}

// Owns declares tables with details of the objects in this one, under the same IDs: removing an object
// removes its details. Call it before the first use.
func (t *Table[T]) Owns(details ...detail) { t.details = append(t.details, details...) }

// Get returns the cached object, whatever its age. False means that it does not exist or is unknown.
func (t *Table[T]) Get(id string) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return r.value, r.exists
}

// GetSince returns an object as of a read that started at oldest or later. Known is false if there was no
// such read; then the object may exist or not.
func (t *Table[T]) GetSince(id string, oldest time.Time) (value T, exists, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	known = !r.readAt.IsZero() && !r.readAt.Before(oldest)
	if !r.exists && t.kind.Covers == nil && t.usable() && t.listed.generation > r.generation {
		known = known || !t.listed.at.Before(oldest)
	}
	return r.value, r.exists, known
}

// Fresh reports whether the row of an object is younger than the max age of its kind.
func (t *Table[T]) Fresh(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return !r.readAt.IsZero() && t.store.clock.Since(r.readAt) < t.kind.MaxAge
}

// Lookup returns the objects with an index key, sorted by ID.
func (t *Table[T]) Lookup(key string) []T {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := make([]T, 0, len(t.keys[key]))
	for _, id := range slices.Sorted(maps.Keys(t.keys[key])) {
		found = append(found, t.rows[id].value)
	}
	return found
}

// LookupIDs returns the IDs of the objects with an index key, sorted.
func (t *Table[T]) LookupIDs(key string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.keys[key]))
}

// All returns the objects that exist, by ID. Callers share the map and must not modify it.
func (t *Table[T]) All() map[string]T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[string]T, len(t.rows))
		for id, r := range t.rows {
			if r.exists {
				t.all[id] = r.value
			}
		}
	}
	return t.all
}

// Select returns the objects that match keep, sorted by ID.
func (t *Table[T]) Select(keep func(T) bool) []T {
	all := t.All()
	var ids []string
	for id, value := range all {
		if keep(value) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	found := make([]T, len(ids))
	for i, id := range ids {
		found[i] = all[id]
	}
	return found
}

// Settling reports whether we created an object so recently that reads may still miss it.
func (t *Table[T]) Settling(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return r.exists && t.settles(r.createdAt, t.store.clock.Now())
}

func (t *Table[T]) settles(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) < t.kind.Settle
}

// usable reports whether there is a valid list. The caller holds the lock.
func (t *Table[T]) usable() bool {
	return t.listed.generation > t.invalid
}

// put replaces a row. The caller holds the lock.
func (t *Table[T]) put(id string, r row[T]) {
	t.unindex(id)
	r.confirmedAt = t.store.clock.Now()
	t.rows[id], t.all = r, nil
	if t.kind.Index == nil || !r.exists {
		return
	}
	for _, key := range t.kind.Index(r.value) {
		if t.keys[key] == nil {
			t.keys[key] = map[string]bool{}
		}
		t.keys[key][id] = true
	}
}

// remove drops a row. The caller holds the lock.
func (t *Table[T]) remove(id string) {
	t.unindex(id)
	delete(t.rows, id)
	t.all = nil
}

func (t *Table[T]) unindex(id string) {
	r := t.rows[id]
	if t.kind.Index == nil || !r.exists {
		return
	}
	for _, key := range t.kind.Index(r.value) {
		delete(t.keys[key], id)
		if len(t.keys[key]) == 0 {
			delete(t.keys, key)
		}
	}
}
