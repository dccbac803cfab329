package snapshot

import (
	"context"
	"slices"
	"time"
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
