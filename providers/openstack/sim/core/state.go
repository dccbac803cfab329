// Package core has the shared parts of the simulated services of OpenStack: options, calls and their errors,
// operations and resources, and how lists are filtered, sorted and paged.
package core

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// State is what all services share.
type State struct {
	Cluster Cluster
	// Made counts objects in the order of creation.
	Made int
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

// Cluster has the IDs of where machines are launched, and of their user.
type Cluster struct{ Project, Router, Network, User string }

// Object is embedded in all objects. seq is the number of its creation.
type Object struct {
	ID  string `json:"id"`
	seq int
}

// Meta returns the fields that all objects have.
func (o *Object) Meta() *Object { return o }

// Entity is a pointer to a struct that embeds object.
type Entity interface{ Meta() *Object }

// NewObject returns the common field of the next object.
func (t *Tx) NewObject(id string) Object {
	t.Made++
	return Object{ID: id, seq: t.Made}
}

// ByID returns objects in the order of their IDs, in which Neutron lists them.
func ByID[T Entity](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, x := range m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.Meta().ID, b.Meta().ID) })
	return out
}

// BySeq returns objects in the order of creation.
func BySeq[T Entity](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, x := range m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.Meta().seq, b.Meta().seq) })
	return out
}

// Only returns the objects that pass.
func Only[T any](list []T, pass func(T) bool) []T {
	return slices.DeleteFunc(list, func(x T) bool { return !pass(x) })
}

// RoleID returns the same at every start, as clients do not use it.
func RoleID(name string) string {
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
