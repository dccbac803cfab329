// Package core has the shared parts of the simulated services of AWS: options, IDs, tags, visibility, the decoding of
// requests, errors, and the filters and pages of EC2.
package core

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// State has the common state of objects of all services.
type State struct {
	// Tags of every object, by its ID or ARN.
	Tags map[string]map[string]string
	// VisibleAt is when reads begin to show an object.
	VisibleAt map[string]time.Time
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{Tags: map[string]map[string]string{}, VisibleAt: map[string]time.Time{}}
}

// Tx is one operation on the state. It holds the lock of the cloud.
type Tx struct {
	*State
	Options *Options
	Call    Call
	Now     time.Time
	Random  *rand.Rand
}

// NewID returns an ID in the long form: the prefix and 17 hexadecimal digits, with 0 as the first.
func (t *Tx) NewID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, t.Random.Uint64())
}

// HideNew hides a new object from reads for the settle time, unless the console created it.
func (t *Tx) HideNew(id string) {
	if t.Options.SettleTime > 0 && t.Call.Service != "" {
		t.VisibleAt[id] = t.Now.Add(t.Options.SettleTime)
	}
}

// Visible reports whether reads show an object yet.
func (t *Tx) Visible(id string) bool {
	at, hidden := t.VisibleAt[id]
	return !hidden || !t.Now.Before(at)
}

// ARN names a resource of this account and region.
func (t *Tx) ARN(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", t.Options.Partition(), service, t.Options.Region, t.Options.Account, resource)
}

// SortedIDs returns the keys of a map, sorted.
func SortedIDs[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// RemoveRecords deletes the tags and the visibility time of an object.
func (t *Tx) RemoveRecords(id string) {
	delete(t.Tags, id)
	delete(t.VisibleAt, id)
}

// Has reports whether a map has a key.
func Has[T any](m map[string]T, id string) bool {
	_, ok := m[id]
	return ok
}

// The limits on tags that all of AWS shares.
const (
	MaxTags     = 50
	MaxTagKey   = 128
	MaxTagValue = 256
)

// FitsTags reports whether an object may have tags in addition to its own.
func (t *Tx) FitsTags(id string, tags map[string]string) bool {
	n := len(t.Tags[id])
	for key := range tags {
		if !Has(t.Tags[id], key) {
			n++
		}
	}
	return n <= MaxTags
}

// SetTags adds tags to an object.
func (t *Tx) SetTags(id string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	if t.Tags[id] == nil {
		t.Tags[id] = map[string]string{}
	}
	maps.Copy(t.Tags[id], tags)
}
