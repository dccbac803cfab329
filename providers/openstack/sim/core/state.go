// Package core has the shared parts of the simulated services of OpenStack: options, calls and their errors,
// operations and resources, and how lists are filtered, sorted and paged.
package core

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// State has the shared state of all services.
type State struct {
	Cluster Cluster
	// Created counts the objects that were created.
	Created int
}

// Tx is one operation on the state. It holds the lock of the cloud.
type Tx struct {
	*State
	Options *Options
	Call    *Call
	Now     time.Time
	Random  *rand.Rand
	// Hidden are the attributes that the responses of the service do not have.
	Hidden []string
}

// Cluster has the IDs of the project, router and network of machines, and of their user.
type Cluster struct{ Project, Router, Network, User string }

// Object is embedded in all objects.
type Object struct {
	ID string `json:"id"`
	// seq is the number of the object in the order of creation.
	seq int
}

// Meta returns the fields that all objects have.
func (o *Object) Meta() *Object { return o }

// Entity is a pointer to a struct that embeds Object.
type Entity interface{ Meta() *Object }

// NewObject returns the common fields of a new object.
func (t *Tx) NewObject(id string) Object {
	t.Created++
	return Object{ID: id, seq: t.Created}
}

// ByID returns objects in the order of their IDs, in which Neutron lists them.
func ByID[T Entity](m map[string]T) []T {
	return slices.SortedFunc(maps.Values(m), func(a, b T) int { return cmp.Compare(a.Meta().ID, b.Meta().ID) })
}

// BySeq returns objects in the order of creation.
func BySeq[T Entity](m map[string]T) []T {
	return slices.SortedFunc(maps.Values(m), func(a, b T) int { return cmp.Compare(a.Meta().seq, b.Meta().seq) })
}

// Only returns the objects to keep. It changes the list.
func Only[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(list, func(x T) bool { return !keep(x) })
}

// FixedID returns an ID that depends on the name only, for objects that nothing refers to by ID.
func FixedID(name string) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 32)
	for i := range out {
		out[i] = hex[(int(name[i%len(name)])+i)%16]
	}
	return string(out)
}

// Deref returns the text, empty for nil.
func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
