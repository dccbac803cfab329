package core

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

var validUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Start starts the operation of a call that changes a resource. Succeed runs when it ends without an error. A shared
// operation allows others that are shared.
func (s *State) Start(k *Call, x Entity, verb string, shared bool, succeed func()) (*Operation, error) {
	m := x.Base()
	if m.exclusive != nil || !shared && m.shared > 0 {
		return nil, ErrNotReady(x.Ref())
	}
	return s.start(k, change{target: x, ref: x.Ref(), verb: verb, shared: shared, succeed: succeed}), nil
}

func (s *State) start(k *Call, c change) *Operation {
	now := s.Clock.Now()
	op := &Operation{OperationType: c.verb, TargetLink: c.ref.URL(), User: s.Options.User(), Status: statusPending,
		InsertTime: s.timestamp(), change: c}
	name := fmt.Sprintf("operation-%d-%013x-%08x-%08x", now.UnixMilli(), s.Random.Uint64()>>12, s.Random.Uint32(),
		s.Random.Uint32())
	s.Add(op, "compute#operation", Ref{c.ref.Project, c.ref.Scope, "operations", name})
	op.CreationTimestamp = ""
	setPlace(op, c.ref)
	if c.target != nil {
		op.TargetID = c.target.Base().ID
		op.occupy(c.target.Base())
	}
	settle := s.settleTime(k)
	op.runs, op.ends = now.Add(settle/4), now.Add(settle)
	if k.ID != "" {
		s.applyRule(k, op)
	}
	s.running = append(s.running, op)
	if settle == 0 {
		op.run(now)
	}
	return op
}

// occupy marks the resource as changing until the operation ends.
func (op *Operation) occupy(m *Meta) {
	if op.change.shared {
		m.shared++
		op.release = func() { m.shared-- }
		return
	}
	m.exclusive = op
	op.release = func() { m.exclusive, m.creating = nil, false }
}

func (op *Operation) run(at time.Time) {
	op.Status, op.StartTime = statusRunning, at.UTC().Format(timeFormat)
}

// settleTime returns how long the operation of a call takes; those of the console take no time.
func (s *State) settleTime(k *Call) time.Duration {
	if k.ID == "" {
		return 0
	}
	if d, ok := s.Options.SettleTimes[k.ID]; ok {
		return d
	}
	return s.Options.SettleTime
}

// Advance applies the changes that are due by now.
func (s *State) Advance() {
	now := s.Clock.Now()
	var left []*Operation
	for _, op := range s.running {
		if op.Status == statusPending && !op.runs.After(now) {
			op.run(op.runs)
		}
		if op.ends.IsZero() || op.ends.After(now) {
			left = append(left, op)
			continue
		}
		s.finish(op, op.ends)
	}
	s.running = left
	s.forget(now)
}

// finish ends an operation.
func (s *State) finish(op *Operation, at time.Time) {
	if op.Status == statusPending {
		op.run(at)
	}
	op.Status, op.Progress, op.EndTime = statusDone, 100, at.UTC().Format(timeFormat)
	s.done = append(s.done, op)
	if op.release != nil {
		op.release()
	}
	switch r := op.refusal; {
	case r != nil:
		op.HTTPStatus, op.HTTPMessage = r.Status, strings.ToUpper(http.StatusText(r.Status))
		op.Error = &OperationError{[]OperationErrorItem{{r.operationCode(), r.Message}}}
		if op.fail != nil {
			op.fail()
		}
	case op.succeed != nil:
		op.succeed()
	}
}

// operationLife is how long operations that are done can be read: the page "Handling API responses" documents 14 days.
const operationLife = 14 * 24 * time.Hour

// requestLife is how long a request ID is known.
const requestLife = time.Hour

// forget removes what is too old.
func (s *State) forget(now time.Time) {
	for len(s.done) > 0 && now.Sub(s.done[0].ends) > operationLife {
		s.Remove(s.done[0])
		s.done = s.done[1:]
	}
	for len(s.requests) > 0 && now.Sub(s.requests[0].at) > requestLife {
		s.requests = s.requests[1:]
	}
}

// Repeated returns the operation of an earlier call with the same request ID, nil for a first call.
func (s *State) Repeated(k *Call) (*Operation, error) {
	id := k.Query.Get("requestId")
	if id == "" {
		return nil, nil
	}
	if !validUUID.MatchString(id) || strings.Trim(id, "0-") == "" {
		return nil, Invalid("requestId", id, "Must be a valid UUID other than the zero one.")
	}
	for _, r := range s.requests {
		if r.id == id && r.call != k.ID+" "+k.Path {
			return nil, Invalid("requestId", id, "The request ID was used for another request.")
		}
		if r.id == id {
			return r.op, nil
		}
	}
	return nil, nil
}

// Remember binds the request ID of a call to its operation.
func (s *State) Remember(k *Call, op *Operation) {
	if id := k.Query.Get("requestId"); id != "" {
		s.requests = append(s.requests, request{id, k.ID + " " + k.Path, op, s.Clock.Now()})
	}
}

// FailLater starts an operation that ends with the error.
func (s *State) FailLater(k *Call, r *RefusalError) *Operation {
	return s.start(k, change{ref: k.Target, verb: k.ID[strings.IndexByte(k.ID, '.')+1:], refusal: r})
}

// Wait returns when the operation in the path of a call ends, or changed else: zero if it is done, or does not exist.
func (s *State) Wait(k *Call) (until time.Time) {
	op, err := Get[*Operation](s, Ref{k.Project(), k.Scope(), "operations", k.Params["operation"]})
	if err != nil || op.Status == statusDone {
		return time.Time{}
	}
	// Unstick ends an operation without an end.
	return cmp.Or(op.ends, s.Clock.Now().Add(stuckPoll))
}

// Unstick lets all stuck operations succeed.
func (s *State) Unstick() {
	for _, op := range slices.Clone(s.running) {
		if op.ends.IsZero() {
			op.ends = s.Clock.Now()
		}
	}
	s.Advance()
}

// WaitLimit is how long the method wait waits at most.
const WaitLimit = 2 * time.Minute

// stuckPoll is how often an operation without an end is read.
const stuckPoll = time.Second

// WaitVerb is the method that answers when the operation is done; the handler waits, without the cloud's lock.
const WaitVerb = "wait"
