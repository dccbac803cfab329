// Package core has the shared parts of the simulated Compute Engine: options, calls and their errors, references,
// collections of resources with their verbs, lists with filters and pages, and the operations that changes are.
package core

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Types of operations.
const (
	verbInsert = "insert"
	verbDelete = "delete"
	verbPatch  = "patch"
	verbUpdate = "update"
)

// The closed set of outcomes.
const (
	// OutcomeDone is success.
	OutcomeDone Outcome = ""
	// OutcomeError ends the operation with an error; nothing is changed.
	OutcomeError Outcome = "error"
	// OutcomeStuck never ends, until Unstick.
	OutcomeStuck Outcome = "stuck"
)

// Status of operations.
const (
	statusPending = "PENDING"
	statusRunning = "RUNNING"
	statusDone    = "DONE"
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

// request is what a request ID stands for.
type request struct {
	id, call string
	op       *Operation
	at       time.Time
}

type outcomeRule struct {
	OutcomeRule
	// seen counts the operations that the rule selects, applied those with its outcome.
	seen, applied int
}

// OutcomeRule selects operations and their outcome.
type OutcomeRule struct {
	Outcome Outcome
	// Delay is added to the time that the operation takes.
	Delay time.Duration
	// Reason and Message are those of an error: internalError by default. QUOTA_EXCEEDED in the operation is the reason
	// quotaExceeded.
	Reason, Message string
	// Status is the one that the operation has for an error: 503 by default.
	Status int
	// Method, if set, restricts the rule to one method such as targetPools.insert.
	Method string
	// Call is the number of the first operation with this outcome, counted from 1 since SetOutcomes; 0 is the first one.
	Call int
	// Times is the number of operations with this outcome; 0 means one, and less than 0 all.
	Times int
}

// Outcome is how an operation ends.
type Outcome string

// Operation is a change of a resource, which takes time.
type Operation struct {
	Meta

	OperationType string          `json:"operationType"`
	TargetLink    string          `json:"targetLink"`
	TargetID      string          `json:"targetId,omitempty"`
	Status        string          `json:"status" enum:"DONE|PENDING|RUNNING"`
	User          string          `json:"user"`
	Progress      int             `json:"progress"`
	InsertTime    string          `json:"insertTime"`
	StartTime     string          `json:"startTime,omitempty"`
	EndTime       string          `json:"endTime,omitempty"`
	HTTPStatus    int             `json:"httpErrorStatusCode,omitempty"`
	HTTPMessage   string          `json:"httpErrorMessage,omitempty"`
	Error         *OperationError `json:"error,omitempty"`
	Region        string          `json:"region,omitempty"`
	Zone          string          `json:"zone,omitempty"`

	change

	// runs and ends are the times of the next states. A stuck operation has no end.
	runs, ends time.Time
	// release marks the resource as no longer changing.
	release func()
}

// OperationError is why an operation failed.
type OperationError struct {
	Errors []OperationErrorItem `json:"errors"`
}

// OperationErrorItem is one of the reasons.
type OperationErrorItem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// change is what an operation does.
type change struct {
	// target is the resource, as far as it exists.
	target Entity
	ref    Ref
	verb   string
	// shared operations of one resource run at the same time; the others exclude all others.
	shared bool
	// succeed runs at the end, fail if the operation ends with an error.
	succeed, fail func()
	refusal       *RefusalError
}

// Entity is a pointer to a struct that embeds Meta.
type Entity interface {
	Base() *Meta
	Ref() Ref
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

// Meta is embedded in all resources.
type Meta struct {
	Kind              string `json:"kind"`
	ID                string `json:"id,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty"`
	Name              string `json:"name" set:"required" format:"name"`
	Description       string `json:"description,omitempty"`
	SelfLink          string `json:"selfLink,omitempty"`

	ref Ref
	// exclusive is the operation that allows no other on the resource; shared counts the others.
	exclusive *Operation
	shared    int
	// creating is set until the resource is created.
	creating bool
}

// Base returns the fields that all resources have.
func (m *Meta) Base() *Meta { return m }

// Ref returns what identifies the resource.
func (m *Meta) Ref() Ref { return m.ref }

// IsVisible reports whether reads return the resource: one that is created is visible once its operation runs.
func (m *Meta) IsVisible() bool { return !m.creating || m.exclusive.Status != statusPending }
