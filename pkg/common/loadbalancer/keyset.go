package loadbalancer

import "sync"

// keySet is a set of names that is safe for concurrent use.
type keySet struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func newKeySet() *keySet { return &keySet{names: map[string]struct{}{}} }

func (s *keySet) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = struct{}{}
}

// remove removes the name and reports whether it was present.
func (s *keySet) remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.names[name]
	delete(s.names, name)
	return ok
}
