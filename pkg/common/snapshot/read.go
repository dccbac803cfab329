package snapshot

import (
	"context"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Refresh reads the list unless it is fresh.
func (t *Table[T]) Refresh(ctx context.Context) error {
	return t.list(ctx, func(last Reading) bool { return t.store.clock.Since(last.at) < t.kind.MaxAge })
}

// RefreshSince reads the list unless the last one started at oldest or later.
func (t *Table[T]) RefreshSince(ctx context.Context, oldest time.Time) error {
	return t.list(ctx, func(last Reading) bool { return !last.at.Before(oldest) })
}

// RefreshAfter reads the list unless the last one started after r.
func (t *Table[T]) RefreshAfter(ctx context.Context, r Reading) error {
	return t.list(ctx, func(last Reading) bool { return last.After(r) })
}

// Reread makes sure that the list was read after the call. Callers that arrive before the read starts share
// it.
func (t *Table[T]) Reread(ctx context.Context) error { return t.RefreshAfter(ctx, t.store.Begin()) }

// Listed returns the start of the last complete list, and whether it is usable: false before the first list
// and after Invalidate.
func (t *Table[T]) Listed() (Reading, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listed, t.usable()
}

// Invalidate makes the list unusable: a write failed and may have created an object that no list shows yet.
func (t *Table[T]) Invalidate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.invalid = t.store.wrote()
}

// list reads the list unless the last one is recent enough. One caller lists at a time.
func (t *Table[T]) list(ctx context.Context, good func(last Reading) bool) error {
	if last, usable := t.Listed(); usable && good(last) {
		return nil
	}
	unlock, err := t.listing.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if last, usable := t.Listed(); usable && good(last) {
		return nil
	}
	r := t.store.Begin()
	list, err := t.kind.List(ctx)
	if err != nil {
		return err
	}
	t.MergeList(r, list)
	return nil
}

// Ensure returns an object that is fresh, and whether it exists. It reads the object if necessary.
func (t *Table[T]) Ensure(ctx context.Context, id string) (T, bool, error) {
	if t.Fresh(id) {
		value, exists := t.Get(id)
		return value, exists, nil
	}
	return t.Read(ctx, id)
}

// Read reads an object and returns its row afterwards: that of a newer write of ours, if there is one.
func (t *Table[T]) Read(ctx context.Context, id string) (T, bool, error) {
	r := t.store.Begin()
	value, err := t.kind.Read(ctx, id)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
		t.MergeMissing(r, id)
	case err != nil:
		var none T
		return none, false, err
	default:
		t.Merge(r, id, value)
	}
	value, exists := t.Get(id)
	return value, exists, nil
}

// Merge stores an object that was read.
func (t *Table[T]) Merge(r Reading, id string, value T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.merge(r, id, value)
	t.evict()
}

// MergeMissing stores the result of a read that an object does not exist.
func (t *Table[T]) MergeMissing(r Reading, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.rows[id]
	if old.generation > r.generation || old.exists && t.settles(old.createdAt, r.at) {
		return
	}
	t.put(id, row[T]{generation: r.generation, readAt: r.at, deletedAt: old.deletedAt})
	t.forgetDetails(id, r.generation)
	t.evict()
}

// MergeList stores a complete list, unless a newer one is stored.
func (t *Table[T]) MergeList(r Reading, list []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.generation < t.listed.generation {
		return
	}
	t.listed = r
	t.mergeList(r, list, t.covers)
	t.evict()
}

// MergeSome stores a list of the objects that selected matches.
func (t *Table[T]) MergeSome(r Reading, list []T, selected func(T) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mergeList(r, list, selected)
	t.evict()
}

// mergeList stores the objects of a list, and removes those that the list should include and does not. Such a
// removal keeps its generation: lists may lag behind, so the result of a read in flight takes effect. The
// caller holds the lock.
func (t *Table[T]) mergeList(r Reading, list []T, selected func(T) bool) {
	seen := make(map[string]bool, len(list))
	for _, value := range list {
		id := t.kind.ID(value)
		seen[id] = true
		if old := t.rows[id]; old.exists || !t.settles(old.deletedAt, r.at) {
			t.merge(r, id, value)
		}
	}
	for id, old := range t.rows {
		newer := old.generation > r.generation || t.settles(old.createdAt, r.at)
		if seen[id] || newer || !old.exists || !selected(old.value) {
			continue
		}
		t.put(id, row[T]{generation: old.generation, readAt: r.at})
		t.forgetDetails(id, r.generation)
	}
}

// merge stores an object unless its row is newer. The caller holds the lock.
func (t *Table[T]) merge(r Reading, id string, value T) {
	old := t.rows[id]
	if old.generation > r.generation {
		return
	}
	t.put(id, row[T]{
		value: value, exists: true, generation: r.generation, readAt: r.at, createdAt: old.createdAt,
	})
}

func (t *Table[T]) covers(value T) bool { return t.kind.Covers == nil || t.kind.Covers(value) }

// evict drops rows that have not been confirmed for a long time. It scans the table rarely. The caller holds
// the lock.
func (t *Table[T]) evict() {
	now := t.store.clock.Now()
	if now.Sub(t.evictedAt) < tombstoneAge/2 {
		return
	}
	t.evictedAt = now
	for id, r := range t.rows {
		age := now.Sub(r.confirmedAt)
		if !r.exists && age >= max(tombstoneAge, t.kind.Settle) || r.exists && t.evictable(r) && age >= t.kind.EvictAfter {
			t.remove(id)
		}
	}
}

// evictable reports whether neither a list nor settling keeps an object.
func (t *Table[T]) evictable(r row[T]) bool {
	listed := t.kind.List != nil && t.covers(r.value)
	return t.kind.EvictAfter > 0 && !listed && !t.settles(r.createdAt, t.store.clock.Now())
}
