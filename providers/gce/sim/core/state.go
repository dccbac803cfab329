// Package core has the shared parts of the simulated Compute Engine: options, calls and their errors, references,
// collections of resources with their verbs, lists with filters and pages, and the operations that changes are.
package core

import (
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/utils/clock"
)

// State has the resources and the operations of the cloud. The cloud's lock protects it.
type State struct {
	Options *Options
	Clock   clock.PassiveClock
	Random  *rand.Rand
	// Disrupted are the zones that do not answer.
	Disrupted []string

	// objects are the resources by collection and path.
	objects map[string]map[string]Entity
	// running are the operations that are not done, oldest first; done are the others.
	running, done []*Operation
	// requests are the request IDs, oldest first.
	requests []request
	rules    []*outcomeRule
}

// NewState returns an empty cloud.
func NewState(o *Options, random *rand.Rand) *State {
	return &State{Options: o, Clock: o.Clock, Random: random, objects: map[string]map[string]Entity{}}
}

// Core returns the part of the state that all services share.
func (s *State) Core() *State { return s }

// isDisrupted reports whether a scope is a zone that does not answer.
func (s *State) isDisrupted(scope string) bool {
	return slices.Contains(s.Disrupted, strings.TrimPrefix(scope, "zones/"))
}
