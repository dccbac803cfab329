package snapshot

// Create stores an object that we created, and starts its settling.
func (t *Table[T]) Create(id string, value T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.store.clock.Now()
	t.put(id, row[T]{value: value, exists: true, generation: t.store.wrote(), readAt: now, createdAt: now})
}

// Put stores an object that the response to a write of ours returned.
func (t *Table[T]) Put(id string, value T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, createdAt := t.store.clock.Now(), t.rows[id].createdAt
	t.put(id, row[T]{value: value, exists: true, generation: t.store.wrote(), readAt: now, createdAt: createdAt})
}

// Update changes an object after a write of ours without a full response: its age stays. The change must not
// modify what the value points to. For an unknown object, Update only marks reads in flight as stale.
func (t *Table[T]) Update(id string, change func(*T)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	r.generation = t.store.wrote()
	if r.exists {
		change(&r.value)
	} else {
		r = row[T]{generation: r.generation}
	}
	t.put(id, r)
}

// Delete records the deletion of an object.
func (t *Table[T]) Delete(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, generation := t.store.clock.Now(), t.store.wrote()
	t.put(id, row[T]{generation: generation, readAt: now, deletedAt: now})
	t.forgetDetails(id, generation)
}

// Forget drops the row of an object: it has to be read again.
func (t *Table[T]) Forget(id string) { t.forget(id, t.store.wrote()) }

// forgetDetails drops the details of an object. The caller holds the lock.
func (t *Table[T]) forgetDetails(id string, generation uint64) {
	for _, d := range t.details {
		d.forget(id, generation)
	}
}

// forget implements detail: it marks details as unknown. Those that were written since belong to a new object
// of the same ID.
func (t *Table[T]) forget(id string, generation uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[id].generation <= generation {
		t.put(id, row[T]{generation: generation})
	}
}
