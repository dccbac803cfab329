package loadbalancer

import "time"

// table is what is known of one kind of object, by ID. It is filled by a list of the whole project
// and kept true by our own writes.
type table[T any] struct {
	readAt time.Time
	rows   map[string]row[T]
}

// row is one object.
type row[T any] struct {
	value T
	// gone remembers a deletion of ours until the next list has been read.
	gone bool
	// writtenAt is the count of writes when it was last written; 0 for never.
	writtenAt uint64
}

// fill takes a list that was asked for when the count of writes was before. What has been written
// since is newer than what was read.
func (t *table[T]) fill(list []T, id func(T) string, before uint64, at time.Time) {
	rows := make(map[string]row[T], len(list))
	for _, item := range list {
		rows[id(item)] = row[T]{value: item}
	}
	for key, r := range t.rows {
		if r.writtenAt > before {
			rows[key] = r
		}
	}
	t.rows, t.readAt = rows, at
}

// replace takes a list of some of the objects: those that mine selects.
func (t *table[T]) replace(list []T, id func(T) string, before uint64, mine func(T) bool) {
	seen := map[string]bool{}
	for _, item := range list {
		seen[id(item)] = true
		t.saw(id(item), item, before)
	}
	for key, r := range t.rows {
		if !seen[key] && r.writtenAt <= before && mine(r.value) {
			delete(t.rows, key)
		}
	}
}

// saw takes one object that was read.
func (t *table[T]) saw(id string, value T, before uint64) {
	if t.rows == nil {
		t.rows = map[string]row[T]{}
	}
	if r, ok := t.rows[id]; ok && r.writtenAt > before {
		return
	}
	t.rows[id] = row[T]{value: value}
}

// put takes one object that we wrote.
func (t *table[T]) put(id string, value T, write uint64) {
	if t.rows == nil {
		t.rows = map[string]row[T]{}
	}
	t.rows[id] = row[T]{value: value, writtenAt: write}
}

// drop forgets one object that we deleted.
func (t *table[T]) drop(id string, write uint64) {
	if t.rows == nil {
		t.rows = map[string]row[T]{}
	}
	t.rows[id] = row[T]{gone: true, writtenAt: write}
}

func (t *table[T]) get(id string) (T, bool) {
	r, ok := t.rows[id]
	return r.value, ok && !r.gone
}

// all are the objects that keep selects, in no order.
func (t *table[T]) all(keep func(T) bool) []T {
	var found []T
	for _, r := range t.rows {
		if !r.gone && keep(r.value) {
			found = append(found, r.value)
		}
	}
	return found
}

func (t *table[T]) fresh(now time.Time, age time.Duration) bool {
	return !t.readAt.IsZero() && now.Sub(t.readAt) < age
}
