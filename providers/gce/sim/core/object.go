package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// SetFingerprint sets the fingerprint of a resource that has one, after a change.
func SetFingerprint(x Entity) {
	if fingerprint := textField(x, "Fingerprint"); fingerprint != nil {
		*fingerprint = ""
		*fingerprint = Fingerprint(x)
	}
}

// Fingerprint returns the hash of what it gets, as base64.
func Fingerprint(content any) string {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err) // Resources are plain structs.
	}
	sum := sha256.Sum256(raw)
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// timeFormat is RFC 3339 with milliseconds and an offset, as Compute Engine writes it.
const timeFormat = "2006-01-02T15:04:05.000-07:00"

// Add adds a new resource: it gets an ID, a timestamp and a URL.
func (s *State) Add(x Entity, kind string, r Ref) {
	m := x.Base()
	m.Kind, m.ref, m.Name, m.SelfLink = kind, r, r.Name, r.URL()
	m.ID = s.newID()
	m.CreationTimestamp = s.timestamp()
	byPath := s.objects[r.Collection]
	if byPath == nil {
		byPath = map[string]Entity{}
		s.objects[r.Collection] = byPath
	}
	byPath[r.String()] = x
}

func (s *State) newID() string { return strconv.FormatUint(s.Random.Uint64()>>1, 10) }

func (s *State) timestamp() string { return s.Clock.Now().UTC().Format(timeFormat) }

// Remove removes a resource.
func (s *State) Remove(x Entity) { delete(s.objects[x.Ref().Collection], x.Ref().String()) }

// find returns the resource, also one that is not visible yet, or nil.
func (s *State) find(r Ref) Entity { return s.objects[r.Collection][r.String()] }

// Get returns a resource that reads find.
func Get[T Entity](s *State, r Ref) (T, error) {
	x, ok := s.find(r).(T)
	if !ok || !x.Base().IsVisible() {
		return x, ErrNotFound(r)
	}
	return x, nil
}

// At returns the resource of a canonical URL that reads find, if it exists.
func At[T Entity](s *State, url string) (T, bool) {
	x, err := Get[T](s, ParseURL(url))
	return x, err == nil
}

// AllAt returns those resources of canonical URLs that exist.
func AllAt[T Entity](s *State, urls []string) []T {
	var out []T
	for _, url := range urls {
		if x, ok := At[T](s, url); ok {
			out = append(out, x)
		}
	}
	return out
}

// Repeated returns a text that a list has twice, or "".
func Repeated(list []string) string {
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i]
		}
	}
	return ""
}

// CountTrue returns how many conditions are met.
func CountTrue(conditions ...bool) int {
	n := 0
	for _, isMet := range conditions {
		if isMet {
			n++
		}
	}
	return n
}

// Use returns a resource to which another one may refer: it exists, and is not being created or deleted.
func Use[T Entity](s *State, r Ref) (T, error) {
	x, err := Get[T](s, r)
	if err != nil {
		return x, err
	}
	if op := x.Base().exclusive; op != nil && (x.Base().creating || op.OperationType == verbDelete) {
		return x, ErrNotReady(r)
	}
	return x, nil
}

// All returns the resources of a collection, in the order of their names.
func All[T Entity](s *State, collection string) []T {
	list := slices.SortedFunc(maps.Values(s.objects[collection]), func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Ref().Name, b.Ref().Name), cmp.Compare(a.Ref().Scope, b.Ref().Scope),
			cmp.Compare(a.Ref().Project, b.Ref().Project))
	})
	var out []T
	for _, x := range list {
		if t, ok := x.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// Collections returns the names of all collections with resources, sorted.
func (s *State) Collections() []string { return slices.Sorted(maps.Keys(s.objects)) }

// count returns the number of resources of a collection in a scope of a project; an empty scope is all of them.
func (s *State) count(project, scope, collection string) int {
	n := 0
	for _, x := range s.objects[collection] {
		if r := x.Ref(); r.Project == project && (scope == "" || r.Scope == scope) {
			n++
		}
	}
	return n
}

// Exists reports whether the resource of a canonical URL exists, also one that is not visible yet.
func (s *State) Exists(url string) bool { return s.find(ParseURL(url)) != nil }
