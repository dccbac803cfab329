package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// Operations are the long-running operations of a simulated cloud. The simulator's lock guards them: it holds the lock
// when it calls their functions, except Wait. They end when a call finds that their time has come, so the simulator
// calls Advance before it reads its objects.
type Operations struct {
	clock clock.Clock
	lock  sync.Locker
	takes time.Duration

	faults []operationFault
	// all are in the order of their starts.
	all []*operation
}

// Task is the work of an operation.
type Task struct {
	// Name is the operation of the cloud's API, and Target the object that it changes.
	Name, Target string
	// RequestID is that of the request. A second request with it gets the operation of the first. May be empty.
	RequestID string
	// Commit makes the change when the operation ends. Its error is that of the operation.
	Commit func() error
	// Abort undoes what the request has done at once, if the operation fails. May be nil.
	Abort func()
}

// OperationState is the present state of an operation.
type OperationState struct {
	ID, Name, Target, RequestID string
	Started                     time.Time
	// Ends is the time at which it ends or has ended; zero if it never does.
	Ends time.Time
	Done bool
	// Err is the reason why it has failed.
	Err error
}

// OperationFaultKind is the kind of a fault of an operation.
type OperationFaultKind string

// The faults of operations.
const (
	// OperationSlow ends after Takes instead of the usual time.
	OperationSlow OperationFaultKind = "slow"
	// OperationFails ends with Err and without its change.
	OperationFails OperationFaultKind = "fails"
	// OperationNeverEnds runs forever.
	OperationNeverEnds OperationFaultKind = "never ends"
)

// OperationFault selects operations, and what happens to them. Operation, Call and Times are those of Fault.
type OperationFault struct {
	Kind      OperationFaultKind
	Operation string
	Call      int
	Times     int
	Takes     time.Duration
	Err       error
}

type operationFault struct {
	OperationFault
	faultState
}

type operation struct {
	OperationState
	task Task
	fail error
}

// NewOperations returns no operations. Each takes the given time on a clock; lock is the simulator's.
func NewOperations(c clock.Clock, lock sync.Locker, takes time.Duration) *Operations {
	return &Operations{clock: clocks.OrReal(c), lock: lock, takes: takes}
}

// SetFaults replaces the faults of operations that start from now on; the first that selects one applies. It panics on
// a fault that cannot happen.
func (o *Operations) SetFaults(faults ...OperationFault) {
	o.faults = nil
	for i, f := range faults {
		switch {
		case f.Kind == OperationSlow && f.Takes > 0, f.Kind == OperationFails && f.Err != nil, f.Kind == OperationNeverEnds:
		default:
			panic(fmt.Sprintf("sim: fault %d of operations: kind %q with time %v and error %v", i+1, f.Kind, f.Takes, f.Err))
		}
		selected := Fault{Operation: f.Operation, Call: f.Call, Times: f.Times}
		o.faults = append(o.faults, operationFault{OperationFault: f, faultState: faultState{Fault: selected}})
	}
}

// Start starts an operation, or returns that of an earlier request with the same ID. One that takes no time is Done.
func (o *Operations) Start(t Task) OperationState {
	for _, earlier := range o.all {
		if t.RequestID != "" && earlier.RequestID == t.RequestID {
			o.Advance()
			return earlier.OperationState
		}
	}
	now := o.clock.Now()
	op := &operation{task: t, OperationState: OperationState{
		ID: fmt.Sprintf("operation-%d", len(o.all)+1), Name: t.Name, Target: t.Target, RequestID: t.RequestID,
		Started: now, Ends: now.Add(o.takes),
	}}
	switch f := o.next(t.Name); f.Kind {
	case OperationSlow:
		op.Ends = now.Add(f.Takes)
	case OperationFails:
		op.fail = f.Err
	case OperationNeverEnds:
		op.Ends = time.Time{}
	}
	o.all = append(o.all, op)
	o.Advance()
	return op.OperationState
}

// next returns the fault of the next operation of that name; the zero value for none.
func (o *Operations) next(name string) OperationFault {
	var chosen OperationFault
	for i := range o.faults {
		f := &o.faults[i]
		if f.faultState.Operation != "" && f.faultState.Operation != name {
			continue
		}
		f.seen++
		if chosen.Kind == "" && f.shouldFail(nil) {
			f.fired++
			chosen = f.OperationFault
		}
	}
	return chosen
}

// Advance ends the operations whose time has come, in the order of their ends.
func (o *Operations) Advance() {
	var due []*operation
	for _, op := range o.all {
		if !op.Done && !op.Ends.IsZero() && !op.Ends.After(o.clock.Now()) {
			due = append(due, op)
		}
	}
	slices.SortStableFunc(due, func(a, b *operation) int { return a.Ends.Compare(b.Ends) })
	for _, op := range due {
		op.Done = true
		if op.Err = op.fail; op.Err == nil {
			op.Err = op.task.Commit()
		}
		if op.Err != nil && op.task.Abort != nil {
			op.task.Abort()
		}
	}
}

// Get returns an operation.
func (o *Operations) Get(id string) (OperationState, bool) {
	o.Advance()
	for _, op := range o.all {
		if op.ID == id {
			return op.OperationState, true
		}
	}
	return OperationState{}, false
}

// Running returns the operations that have not ended, in the order of their starts.
func (o *Operations) Running() []OperationState {
	o.Advance()
	var running []OperationState
	for _, op := range o.all {
		if !op.Done {
			running = append(running, op.OperationState)
		}
	}
	return running
}

// Wait returns an operation once it has ended, or as it is after the longest wait. The caller does not hold the lock.
func (o *Operations) Wait(ctx context.Context, id string, longest time.Duration) (state OperationState, found bool,
	err error) {
	deadline := o.clock.Now().Add(longest)
	for {
		o.lock.Lock()
		state, found = o.Get(id)
		o.lock.Unlock()
		now := o.clock.Now()
		if !found || state.Done || !now.Before(deadline) {
			return state, found, nil
		}
		until := deadline
		if !state.Ends.IsZero() && state.Ends.Before(deadline) {
			until = state.Ends
		}
		if err := clocks.Sleep(ctx, o.clock, until.Sub(now)); err != nil {
			return state, true, err
		}
	}
}
