package snapshot

import (
	"context"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Refresh reads the list unless it is fresh.
func (t *table) Refresh(ctx context.Context) error {
	return t.list(ctx, func(last Reading) bool { return t.store.clock.Since(last.at) < t.kind.MaxAge })
}

// RefreshSince reads the list unless the last one started at oldest or later.
func (t *table) RefreshSince(ctx context.Context, oldest time.Time) error {
	return t.list(ctx, func(last Reading) bool { return !last.at.Before(oldest) })
}

// RefreshAfter reads the list unless the last one started after r.
func (t *table) RefreshAfter(ctx context.Context, r Reading) error {
	return t.list(ctx, func(last Reading) bool { return last.After(r) })
}

// Reread makes sure that the list was read after the call. Callers that arrive before the read starts share
// it.
func (t *table) Reread(ctx context.Context) error { return t.RefreshAfter(ctx, t.store.Begin()) }

// Listed returns the start of the last complete list, and whether it is usable: false before the first list
// and after Invalidate.
func (t *table) Listed() (Reading, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listed, t.hasList()
}

// Invalidate makes the list unusable: a write failed and may have created an object that no list shows yet.
func (t *table) Invalidate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.invalid = t.store.recordWrite()
}

// list reads the list unless the last one is recent enough. One caller lists at a time.
func (t *table) list(ctx context.Context, isRecent func(last Reading) bool) error {
	if last, usable := t.Listed(); usable && isRecent(last) {
		return nil
	}
	unlock, err := t.listing.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if last, usable := t.Listed(); usable && isRecent(last) {
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

// Ensure implements Table.Ensure.
func (t *table) Ensure(ctx context.Context, id string) (any, bool, error) {
	if t.Fresh(id) {
		value, exists := t.Get(id)
		return value, exists, nil
	}
	return t.Read(ctx, id)
}

// Read implements Table.Read.
func (t *table) Read(ctx context.Context, id string) (any, bool, error) {
	r := t.store.Begin()
	value, err := t.kind.Read(ctx, id)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
		t.MergeMissing(r, id)
	case err != nil:
		return nil, false, err
	default:
		t.Merge(r, id, value)
	}
	value, exists := t.Get(id)
	return value, exists, nil
}

// Merge implements Table.Merge.
func (t *table) Merge(r Reading, id string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.merge(r, id, value)
	t.evict()
}

// MergeMissing stores the result of a read that an object does not exist.
func (t *table) MergeMissing(r Reading, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.rows[id]
	if old.generation > r.generation || old.exists && t.isSettling(old.createdAt, r.at) {
		return
	}
	t.put(id, row{generation: r.generation, readAt: r.at, deletedAt: old.deletedAt})
	t.forgetDetails(id, r.generation)
	t.evict()
}

// MergeList implements Table.MergeList.
func (t *table) MergeList(r Reading, list []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.generation < t.listed.generation {
		return
	}
	t.listed = r
	t.mergeList(r, list, t.covers)
	t.evict()
}

// MergeSelected implements Table.MergeSelected.
func (t *table) MergeSelected(r Reading, list []any, selected func(any) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mergeList(r, list, selected)
	t.evict()
}

// mergeList stores the objects of a list, and removes the objects that the list should include and does not. Such a
// removal keeps its generation: lists may lag behind, so the result of a read in flight takes effect. The
// caller holds the lock.
func (t *table) mergeList(r Reading, list []any, selected func(any) bool) {
	seen, removedAt := make(map[string]bool, len(list)), r.at
	if t.kind.ListsLag {
		removedAt = time.Time{} // unknown
	}
	for _, value := range list {
		id := t.kind.ID(value)
		seen[id] = true
		if old := t.rows[id]; old.exists || !t.isSettling(old.deletedAt, r.at) {
			t.merge(r, id, value)
		}
	}
	for id, old := range t.rows {
		newer := old.generation > r.generation || t.isSettling(old.createdAt, r.at)
		if seen[id] || newer || !old.exists || !selected(old.value) {
			continue
		}
		t.put(id, row{generation: old.generation, readAt: removedAt})
		t.forgetDetails(id, r.generation)
	}
}

// merge stores an object unless its row is newer. The caller holds the lock.
func (t *table) merge(r Reading, id string, value any) {
	old := t.rows[id]
	if old.generation > r.generation {
		return
	}
	t.put(id, row{
		value: value, exists: true, generation: r.generation, readAt: r.at, createdAt: old.createdAt,
	})
}

func (t *table) covers(value any) bool { return t.kind.Covers == nil || t.kind.Covers(value) }

// evict drops rows that have not been confirmed for a long time. It scans the table rarely. The caller holds
// the lock.
func (t *table) evict() {
	now := t.store.clock.Now()
	if now.Sub(t.evictedAt) < tombstoneAge/2 {
		return
	}
	t.evictedAt = now
	for id, r := range t.rows {
		age := now.Sub(r.confirmedAt)
		if !r.exists && age >= max(tombstoneAge, t.kind.Settle) || r.exists && t.isEvictable(r) && age >= t.kind.EvictAfter {
			t.remove(id)
		}
	}
}

// isEvictable reports whether neither a list nor settling keeps an object.
func (t *table) isEvictable(r row) bool {
	listed := t.kind.List != nil && t.covers(r.value)
	return t.kind.EvictAfter > 0 && !listed && !t.isSettling(r.createdAt, t.store.clock.Now())
}
