package cloudapi

import "sync"

// Label values stay a closed set even if a Describe function puts an ID into a name: after
// maxOperations different names, or for a name that is not one of an operation (isName), the label is otherName.
const (
	maxOperations = 512
	maxNameLength = 64
	otherName     = "other"
)

// labelSet is the set of names that a transport has used as labels. It is safe for concurrent use.
type labelSet struct {
	mu    sync.Mutex
	known map[Request]struct{}
}

// labels returns the request with names that are allowed as labels.
func (s *labelSet) labels(r Request) Request {
	if !isName(r.Service) {
		r.Service = otherName
	}
	if !isName(r.Operation) {
		r.Operation = otherName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known[r]; ok {
		return r
	}
	if len(s.known) >= maxOperations {
		r.Service, r.Operation = otherName, otherName
		return r
	}
	if s.known == nil {
		s.known = map[Request]struct{}{}
	}
	s.known[r] = struct{}{}
	return r
}

// isName reports whether s looks like the name of a service or an operation, such as CreatePool or "GET lb-pools".
func isName(s string) bool {
	if s == "" || len(s) > maxNameLength {
		return false
	}
	for _, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' && c != ' ' {
			return false
		}
	}
	return true
}
