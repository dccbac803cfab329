package classic

import "time"

// wrote changes what is known of a load balancer after a write of ours.
func (s *store) wrote(name string, change func(*Balancer)) {
	s.update(name, func(e *entry) {
		if e.balancer == nil {
			return
		}
		b := e.whole() // Observations are shared, so the change goes into a copy.
		change(b)
		e.tags, e.attributes = b.Tags, b.Attributes
		e.balancer = b
	})
}

// made adds a load balancer that was created.
func (s *store) made(b Balancer) {
	s.update(b.Name, func(e *entry) {
		now := s.clock.Now()
		*e = entry{balancer: &b, tags: b.Tags, tagsAt: now, attributes: b.Attributes, attrsAt: now, madeAt: now}
	})
}

// gone removes one that was deleted.
func (s *store) gone(name string) { s.update(name, func(e *entry) { *e = entry{} }) }

// doubt makes the next look at a load balancer a read: a write failed, and nobody knows how far it got.
func (s *store) doubt(name string) { s.update(name, func(e *entry) { e.stale = true }) }

func (s *store) update(name string, change func(*entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	e := *s.lockedGet(name)
	change(&e)
	e.writtenAt = s.writes
	s.entries[name] = &e
}

// groupsOfOthers are the security groups that load balancers other than this one use.
func (s *store) groupsOfOthers(name string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := map[string]bool{}
	for other, e := range s.entries {
		if other == name || e.balancer == nil {
			continue
		}
		for _, id := range e.balancer.Groups {
			groups[id] = true
		}
	}
	return groups
}

// whole is the load balancer with its tags and attributes, nil if there is none.
func (e *entry) whole() *Balancer {
	if e.balancer == nil {
		return nil
	}
	b := *e.balancer
	b.Tags, b.Attributes = e.tags, e.attributes
	return &b
}

func (s *store) get(name string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lockedGet(name)
}

// lockedGet returns an empty entry for a name that is not known. The lock is held.
func (s *store) lockedGet(name string) *entry {
	if e, ok := s.entries[name]; ok {
		return e
	}
	return &entry{}
}

func (s *store) countWrites() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *store) isFresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.readAt.IsZero() && s.clock.Since(s.readAt) < listAge
}

// recent says whether a detail that was read then is still good.
func (s *store) recent(at time.Time) bool { return !at.IsZero() && s.clock.Since(at) < detailAge }
