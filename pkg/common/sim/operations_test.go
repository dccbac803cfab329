package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// operationsFixture has operations of 10 seconds, and a log of what they have done.
type operationsFixture struct {
	*Operations
	clock *clocktesting.FakeClock
	done  []string
}

func newOperationsFixture() *operationsFixture {
	x := &operationsFixture{clock: clocktesting.NewFakeClock(epoch)}
	x.Operations = NewOperations(x.clock, &sync.Mutex{}, 10*time.Second)
	return x
}

func (x *operationsFixture) task(name string) Task {
	return Task{
		Name: "insert", Target: name,
		Commit: func() error { x.done = append(x.done, "commit "+name); return nil },
		Abort:  func() { x.done = append(x.done, "abort "+name) },
	}
}

func TestOperationsEndWithTheirTime(t *testing.T) {
	failed := errors.New("quota")
	tests := map[string]struct {
		fault OperationFault
		// ended are the objects whose operations have ended after 9, 10 and 60 seconds.
		after9, after10, after60 string
		err                      error
	}{
		"usual": {after10: "commit a", after60: "commit a"},
		"slow":  {fault: OperationFault{Kind: OperationSlow, Takes: time.Minute}, after60: "commit a"},
		"fails": {
			fault: OperationFault{Kind: OperationFails, Err: failed}, after10: "abort a", after60: "abort a", err: failed,
		},
		"never ends": {fault: OperationFault{Kind: OperationNeverEnds}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newOperationsFixture()
			if test.fault.Kind != "" {
				x.SetFaults(test.fault)
			}
			id := x.Start(x.task("a")).ID
			step := func(d time.Duration, want string) {
				t.Helper()
				x.clock.Step(d)
				x.Advance()
				if got := strings.Join(x.done, ", "); got != want {
					t.Errorf("after %v: got %q, want %q", x.clock.Since(epoch), got, want)
				}
			}
			step(9*time.Second, test.after9)
			step(time.Second, test.after10)
			step(50*time.Second, test.after60)
			state, found := x.Get(id)
			if !found || state.Done != (test.after60 != "") || !errors.Is(state.Err, test.err) {
				t.Errorf("found %t: %+v", found, state)
			}
			if running := x.Running(); (len(running) == 0) != state.Done {
				t.Errorf("running: %v", running)
			}
		})
	}
}

func TestOperationsEndInOrder(t *testing.T) {
	x := newOperationsFixture()
	x.SetFaults(OperationFault{Kind: OperationSlow, Takes: 20 * time.Second, Call: 2, Operation: "insert"})
	for _, name := range []string{"a", "b", "c"} {
		x.Start(x.task(name))
	}
	x.clock.Step(time.Hour)
	x.Advance()
	if got := strings.Join(x.done, ", "); got != "commit a, commit c, commit b" {
		t.Errorf("got %s", got)
	}
}

func TestOperationFailsWithTheErrorOfItsCommit(t *testing.T) {
	x, failed := newOperationsFixture(), errors.New("in use")
	task := x.task("a")
	task.Commit = func() error { return failed }
	id := x.Start(task).ID
	x.clock.Step(10 * time.Second)
	if state, _ := x.Get(id); !state.Done || !errors.Is(state.Err, failed) || strings.Join(x.done, ", ") != "abort a" {
		t.Errorf("%+v, done: %v", state, x.done)
	}
}

func TestRequestWithTheSameIDStartsNoOperation(t *testing.T) {
	x := newOperationsFixture()
	task := x.task("a")
	task.RequestID = "r"
	first := x.Start(task)
	x.clock.Step(10 * time.Second)
	second := x.Start(task)
	if second.ID != first.ID || !second.Done || len(x.done) != 1 {
		t.Errorf("got %+v, done: %v", second, x.done)
	}
	if third := x.Start(x.task("a")); third.ID == first.ID {
		t.Error("requests without an ID share an operation")
	}
}

func TestWaitReturnsTheOperationOnceItHasEnded(t *testing.T) {
	tests := map[string]struct {
		fault OperationFault
		took  time.Duration
		done  bool
	}{
		"ends":       {took: 10 * time.Second, done: true},
		"slow":       {fault: OperationFault{Kind: OperationSlow, Takes: time.Hour}, took: 2 * time.Minute},
		"never ends": {fault: OperationFault{Kind: OperationNeverEnds}, took: 2 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := NewOperations(nil, &sync.Mutex{}, 10*time.Second)
				if test.fault.Kind != "" {
					o.SetFaults(test.fault)
				}
				id := o.Start(Task{Commit: func() error { return nil }}).ID
				start := time.Now()
				state, found, err := o.Wait(t.Context(), id, 2*time.Minute)
				if took := time.Since(start); err != nil || !found || state.Done != test.done || took != test.took {
					t.Errorf("%+v after %v, found %t, error %v", state, took, found, err)
				}
				if _, found, _ := o.Wait(t.Context(), "other", time.Hour); found {
					t.Error("an operation that does not exist was found")
				}
			})
		})
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOperations(nil, &sync.Mutex{}, time.Hour)
		id := o.Start(Task{}).ID
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := o.Wait(ctx, id, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestImpossibleOperationFaultPanics(t *testing.T) {
	for name, fault := range map[string]OperationFault{
		"no kind": {}, "slow without a time": {Kind: OperationSlow}, "fails without an error": {Kind: OperationFails},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			newOperationsFixture().SetFaults(fault)
		})
	}
}
