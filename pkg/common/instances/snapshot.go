package instances

import (
	"slices"
	"sync"
	"time"
)

// ref names one instance: by ID where that is known, else by node name.
type ref struct{ id, name string }

// snapshot remembers instances as they were read, and when. It only ever serves positive
// answers: what it does not hold has to be read.
type snapshot struct {
	mu        sync.RWMutex
	byID      map[string]observed
	idsByName map[string][]string
	// listing says that a list is on its way. goneAt then remembers which instances were found
	// absent meanwhile, so that the list does not bring them back.
	listing bool
	goneAt  map[string]time.Time
	// listedAt is when the last complete list started.
	listedAt time.Time
	// listFailedAt is when the last list failed; zero after a list that succeeded.
	listFailedAt time.Time
	// readSingly counts the instances read outside of lists since the last list.
	readSingly int
}

type observed struct {
	instance Instance
	// at is when the read started: the oldest state that the answer can show.
	at time.Time
}

func newSnapshot() *snapshot {
	return &snapshot{byID: map[string]observed{}, idsByName: map[string][]string{}, goneAt: map[string]time.Time{}}
}

// get returns the instance if it was read at or after oldest. A name that two instances carry is
// not served: that is for Source.Find to judge.
func (s *snapshot) get(r ref, oldest time.Time) (Instance, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.lookupLocked(r)
	if !ok || o.at.Before(oldest) {
		return Instance{}, false
	}
	return o.instance, true
}

func (s *snapshot) lookupLocked(r ref) (observed, bool) {
	if r.id == "" {
		ids := s.idsByName[r.name]
		if len(ids) != 1 {
			return observed{}, false
		}
		r.id = ids[0]
	}
	o, ok := s.byID[r.id]
	return o, ok
}

func (s *snapshot) putLocked(o observed) {
	s.dropLocked(o.instance.ID)
	s.byID[o.instance.ID] = o
	if name := o.instance.NodeName; name != "" {
		s.idsByName[name] = append(s.idsByName[name], o.instance.ID)
	}
}

func (s *snapshot) dropLocked(id string) {
	o, ok := s.byID[id]
	if !ok {
		return
	}
	delete(s.byID, id)
	name := o.instance.NodeName
	ids := slices.DeleteFunc(s.idsByName[name], func(other string) bool { return other == id })
	if len(ids) == 0 {
		delete(s.idsByName, name)
	} else {
		s.idsByName[name] = ids
	}
}

// beginList notes that a list is on its way.
func (s *snapshot) beginList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listing = true
}

// endList takes the result of a list that started at. Single reads that started later win over it.
func (s *snapshot) endList(list []Instance, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.byID
	s.byID, s.idsByName = make(map[string]observed, len(list)), make(map[string][]string, len(list))
	for _, in := range list {
		if gone, ok := s.goneAt[in.ID]; !ok || gone.Before(at) {
			s.putLocked(observed{in, at})
		}
	}
	for _, o := range before {
		if o.at.After(at) {
			s.putLocked(o)
		}
	}
	clear(s.goneAt)
	s.listing, s.listedAt, s.listFailedAt, s.readSingly = false, at, time.Time{}, 0
}

// failList notes that the list on its way failed.
func (s *snapshot) failList(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.goneAt)
	s.listing, s.listFailedAt = false, now
}

// merge takes instances that were read singly, by a read that started at.
func (s *snapshot) merge(found map[string]Instance, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range found {
		if o, ok := s.byID[in.ID]; !ok || !o.at.After(at) {
			s.putLocked(observed{in, at})
			delete(s.goneAt, in.ID)
		}
	}
	s.readSingly += len(found)
}

// forget takes the answer that an instance does not exist, from a read that started at.
func (s *snapshot) forget(r ref, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.lookupLocked(r); ok {
		if o.at.After(at) {
			return
		}
		r.id = o.instance.ID
		s.dropLocked(r.id)
	}
	if s.listing && r.id != "" {
		s.goneAt[r.id] = at
	}
}

// wantsList says whether a list is the right way to read more: none started at or after oldest,
// or so much was read singly that the snapshot has fallen behind the cloud. A list that failed
// less than retryAfter ago is not tried again.
func (s *snapshot) wantsList(now, oldest time.Time, retryAfter time.Duration) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.listFailedAt.IsZero() && now.Sub(s.listFailedAt) < retryAfter {
		return false
	}
	return s.listedAt.IsZero() || s.listedAt.Before(oldest) || s.readSingly >= listAfter
}

// fallenBehind says whether so much was read singly that a list is cheaper.
func (s *snapshot) fallenBehind() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readSingly >= listAfter
}

// lastList returns when the last complete list started.
func (s *snapshot) lastList() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listedAt
}
