package snapshot

// Create implements Table.Create.
func (t *table) Create(id string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.store.clock.Now()
	t.put(id, row{value: value, exists: true, generation: t.store.recordWrite(), readAt: now, createdAt: now})
}

// Put implements Table.Put.
func (t *table) Put(id string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, createdAt := t.store.clock.Now(), t.rows[id].createdAt
	t.put(id, row{value: value, exists: true, generation: t.store.recordWrite(), readAt: now, createdAt: createdAt})
}

// Update implements Table.Update.
func (t *table) Update(id string, change func(value any) any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[id]
	r.generation = t.store.recordWrite()
	if r.exists {
		r.value = change(r.value)
	} else {
		r = row{generation: r.generation}
	}
	t.put(id, r)
}

// Delete records the deletion of an object.
func (t *table) Delete(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, generation := t.store.clock.Now(), t.store.recordWrite()
	t.put(id, row{generation: generation, readAt: now, deletedAt: now})
	t.forgetDetails(id, generation)
}

// Forget drops the row of an object: it has to be read again.
func (t *table) Forget(id string) { t.forget(id, t.store.recordWrite()) }

// forgetDetails drops the details of an object. The caller holds the lock.
func (t *table) forgetDetails(id string, generation uint64) {
	for _, d := range t.details {
		d.forget(id, generation)
	}
}

// forget implements detail: it marks details as unknown. Those that were written since belong to a new object
// of the same ID.
func (t *table) forget(id string, generation uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[id].generation <= generation {
		t.put(id, row{generation: generation})
	}
}
