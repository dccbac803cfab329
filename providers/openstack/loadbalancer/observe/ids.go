package observe

import "k8s.io/utils/lru"

// maxIDs is the limit of an idSet: more than the load balancers of any project that one manager reads.
const maxIDs = 4096

// idSet is a set of IDs that keeps those that were used last.
type idSet struct{ cache *lru.Cache }

func newIDSet() idSet { return idSet{lru.New(maxIDs)} }

func (s idSet) add(id string) { s.cache.Add(id, nil) }

func (s idSet) remove(id string) { s.cache.Remove(id) }

func (s idSet) has(id string) bool {
	_, ok := s.cache.Get(id)
	return ok
}
