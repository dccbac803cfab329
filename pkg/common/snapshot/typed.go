package snapshot

import (
	"context"
	"slices"
	"time"
)

// Table caches one kind of object, by ID. It is safe for concurrent use. Values are shared between callers,
// who must not modify what they point to.
type Table[T any] struct {
	table
	// all is a copy of the existing objects after so many changes. It is returned to callers and never modified.
	all   map[string]T
	allAt uint64
}

// NewTable returns an empty table. It reads nothing.
func NewTable[T any](s *Store, k Kind[T]) *Table[T] {
	return &Table[T]{table: table{store: s, kind: k.box(), rows: map[string]row{}, keys: map[string]map[string]bool{}}}
}

// Get returns the cached object, whatever its age. False means that it does not exist or is unknown.
func (t *Table[T]) Get(id string) (T, bool) {
	found, exists := t.table.Get(id)
	value, _ := found.(T)
	return value, exists
}

// GetSince returns an object as of a read that started at oldest or later. Known is false if there was no
// such read; then the object may exist or not.
func (t *Table[T]) GetSince(id string, oldest time.Time) (value T, exists, known bool) {
	found, exists, known := t.table.GetSince(id, oldest)
	value, _ = found.(T)
	return value, exists, known
}

// Lookup returns the objects with an index key, sorted by ID.
func (t *Table[T]) Lookup(key string) []T {
	found := t.table.Lookup(key)
	values := make([]T, len(found))
	for i, value := range found {
		values[i], _ = value.(T)
	}
	return values
}

// All returns the objects that exist, by ID. Callers share the map and must not modify it.
func (t *Table[T]) All() map[string]T {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || t.allAt != t.changes {
		t.all, t.allAt = make(map[string]T, len(t.rows)), t.changes
		for id, r := range t.rows {
			if r.exists {
				t.all[id], _ = r.value.(T)
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

// Ensure returns an object that is fresh, and whether it exists. It reads the object if necessary.
func (t *Table[T]) Ensure(ctx context.Context, id string) (T, bool, error) {
	found, exists, err := t.table.Ensure(ctx, id)
	value, _ := found.(T)
	return value, exists, err
}

// Read reads an object and returns its row afterwards: that of a newer write of ours, if there is one.
func (t *Table[T]) Read(ctx context.Context, id string) (T, bool, error) {
	found, exists, err := t.table.Read(ctx, id)
	value, _ := found.(T)
	return value, exists, err
}

// Merge stores an object that was read.
func (t *Table[T]) Merge(r Reading, id string, value T) { t.table.Merge(r, id, value) }

// MergeList stores a complete list, unless a newer one is stored.
func (t *Table[T]) MergeList(r Reading, list []T) { t.table.MergeList(r, box(list)) }

// MergeSelected stores a list of the objects that selected matches.
func (t *Table[T]) MergeSelected(r Reading, list []T, selected func(T) bool) {
	t.table.MergeSelected(r, box(list), func(value any) bool { return selected(value.(T)) })
}

// Create stores an object that we created, and starts its settling.
func (t *Table[T]) Create(id string, value T) { t.table.Create(id, value) }

// Put stores an object that the response to a write of ours returned.
func (t *Table[T]) Put(id string, value T) { t.table.Put(id, value) }

// Update changes an object after a write of ours without a full response: its age stays. The change must not
// modify what the value points to. For an unknown object, Update only marks reads in flight as stale.
func (t *Table[T]) Update(id string, change func(*T)) {
	t.table.Update(id, func(found any) any {
		value, _ := found.(T)
		change(&value)
		return value
	})
}
