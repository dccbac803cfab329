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
	// ListsLag is set for clouds with lists that may miss objects that exist. An object that a list lacks is unknown
	// then, and has to be read.
	ListsLag bool
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

// box returns the kind for values of any type.
func (k Kind[T]) box() Kind[any] {
	out := Kind[any]{MaxAge: k.MaxAge, Settle: k.Settle, EvictAfter: k.EvictAfter, ListsLag: k.ListsLag}
	if out.EvictAfter == 0 {
		out.EvictAfter = 2 * k.MaxAge
	}
	if k.ID != nil {
		out.ID = func(value any) string { return k.ID(value.(T)) }
	}
	if k.List != nil {
		out.List = func(ctx context.Context) ([]any, error) {
			list, err := k.List(ctx)
			return box(list), err
		}
	}
	if k.Covers != nil {
		out.Covers = func(value any) bool { return k.Covers(value.(T)) }
	}
	if k.Read != nil {
		out.Read = func(ctx context.Context, id string) (any, error) { return k.Read(ctx, id) }
	}
	if k.Index != nil {
		out.Index = func(value any) []string { return k.Index(value.(T)) }
	}
	return out
}

func box[T any](list []T) []any {
	values := make([]any, len(list))
	for i, value := range list {
		values[i] = value
	}
	return values
}

// table is what a Table does, for values of any type: Table is compiled for each type, table once.
type table struct {
	store *Store
	kind  Kind[any]
	// listing serializes lists.
	listing locks.Mutex

	mu   sync.Mutex
	rows map[string]row
	keys map[string]map[string]bool
	// changes counts the changes of rows.
	changes uint64
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
type row struct {
	value any
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

// AddDetails declares tables with details of the objects in this one, under the same IDs: removing an object
// removes its details. Call it before the first use.
func (t *table) AddDetails(details ...detail) { t.details = append(t.details, details...) }

// Get implements Table.Get.
func (t *table) Get(id string) (any, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return r.value, r.exists
}

// GetSince implements Table.GetSince.
func (t *table) GetSince(id string, oldest time.Time) (value any, exists, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	known = !r.readAt.IsZero() && !r.readAt.Before(oldest)
	complete := t.kind.Covers == nil && !t.kind.ListsLag
	if complete && !r.exists && t.hasList() && t.listed.generation > r.generation {
		known = known || !t.listed.at.Before(oldest)
	}
	return r.value, r.exists, known
}

// Fresh reports whether the row of an object is younger than the max age of its kind.
func (t *table) Fresh(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return !r.readAt.IsZero() && t.store.clock.Since(r.readAt) < t.kind.MaxAge
}

// Lookup implements Table.Lookup.
func (t *table) Lookup(key string) []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := make([]any, 0, len(t.keys[key]))
	for _, id := range slices.Sorted(maps.Keys(t.keys[key])) {
		found = append(found, t.rows[id].value)
	}
	return found
}

// LookupIDs returns the IDs of the objects with an index key, sorted.
func (t *table) LookupIDs(key string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.keys[key]))
}

// Settling reports whether we created an object so recently that reads may still miss it.
func (t *table) Settling(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	return r.exists && t.isSettling(r.createdAt, t.store.clock.Now())
}

func (t *table) isSettling(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) < t.kind.Settle
}

// hasList reports whether there is a valid list. The caller holds the lock.
func (t *table) hasList() bool {
	return t.listed.generation > t.invalid
}

// put replaces a row. The caller holds the lock.
func (t *table) put(id string, r row) {
	t.unindex(id)
	r.confirmedAt = t.store.clock.Now()
	t.rows[id] = r
	t.changes++
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
func (t *table) remove(id string) {
	t.unindex(id)
	delete(t.rows, id)
	t.changes++
}

func (t *table) unindex(id string) {
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
