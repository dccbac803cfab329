package operations_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/operations"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

func TestDoReturnsWhenTheOperationHasEnded(t *testing.T) {
	tests := map[string]struct {
		takes time.Duration
		// waitVerb and retryAfter are those of the cloud.
		waitVerb, retryAfter time.Duration
		options              operations.Options
		faults               []sim.OperationFault
		polls                int
		took                 time.Duration
		class                cloudapi.Class
		value                string
	}{
		"ended with the response": {takes: 0, value: "v"},
		"a verb waits in the cloud": {
			takes: 9 * time.Second, waitVerb: 2 * time.Minute, polls: 1, took: 9 * time.Second, value: "v",
		},
		"a verb returns before": {
			takes: 5 * time.Minute, waitVerb: 2 * time.Minute, polls: 3, took: 5 * time.Minute, value: "v",
		},
		"polls at growing intervals": { // after 2, 2, 3 and 4.5 seconds
			takes: 10 * time.Second, options: operations.Options{First: 2 * time.Second}, polls: 4,
			took: 11500 * time.Millisecond, value: "v",
		},
		"polls when the cloud asks": {
			takes: 10 * time.Second, retryAfter: 3 * time.Second,
			options: operations.Options{First: 2 * time.Second}, polls: 4, took: 12 * time.Second, value: "v",
		},
		"fails late": {
			takes: 9 * time.Second, waitVerb: 2 * time.Minute, polls: 1, took: 9 * time.Second,
			faults: []sim.OperationFault{{Kind: sim.OperationFails, Err: classified(cloudapi.Quota, "quota exceeded")}},
			class:  cloudapi.Quota,
		},
		"fails late without a class": {
			takes: 9 * time.Second, waitVerb: 2 * time.Minute, polls: 1, took: 9 * time.Second,
			faults: []sim.OperationFault{{Kind: sim.OperationFails, Err: errors.New("internal")}},
			class:  cloudapi.Unknown,
		},
		"fails with the response": {
			faults: []sim.OperationFault{{Kind: sim.OperationFails, Err: classified(cloudapi.Invalid, "bad port")}},
			class:  cloudapi.Invalid,
		},
		"slow": {
			takes: time.Second, waitVerb: 2 * time.Minute, polls: 2, took: 3 * time.Minute,
			faults: []sim.OperationFault{{Kind: sim.OperationSlow, Takes: 3 * time.Minute}}, value: "v",
		},
		"never ends": {
			waitVerb: time.Minute, options: operations.Options{Budget: 5}, polls: 5, took: 5 * time.Minute,
			faults: []sim.OperationFault{{Kind: sim.OperationNeverEnds}}, class: cloudapi.Unavailable,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newToy(test.takes)
				c.waitVerb, c.retryAfter = test.waitVerb, test.retryAfter
				c.setFaults(test.faults...)
				start := time.Now()
				err := c.waiter(test.options).Do(t.Context(), request("x", "v"), c.set("x", "v"))
				if got := cloudapi.ClassOf(err); got != test.class {
					t.Errorf("got %v, want class %q", err, test.class)
				}
				var classified *cloudapi.Error
				if err != nil && !errors.As(err, &classified) {
					t.Errorf("an error without a class: %v", err)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if got := c.object("x"); got != test.value {
					t.Errorf("the object is %q, want %q", got, test.value)
				}
				verifyCounts(t, c, 1, test.polls)
			})
		})
	}
}

func TestPollsOfALongOperationStayWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(15 * time.Minute)
		w := c.waiter(operations.Options{First: operations.DefaultInterval})
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Fatal(err)
		}
		if _, polls := c.counts(); polls > operations.DefaultBudget {
			t.Errorf("%d polls", polls)
		}
	})
}

func TestFailedPollsDoNotEndTheWait(t *testing.T) {
	tests := map[string]struct {
		err   error
		class cloudapi.Class
		text  string
		polls int
	}{
		"unavailable": {err: classified(cloudapi.Unavailable, "503"), polls: 4},
		"throttled": {
			err:   &cloudapi.Error{Class: cloudapi.Throttled, RetryAfter: time.Minute, Err: errors.New("429")},
			polls: 4,
		},
		"without a class": {err: errors.New("cannot be parsed"), polls: 4},
		"denied":          {err: classified(cloudapi.Denied, "403"), class: cloudapi.Denied, text: "operation-1", polls: 1},
		"operation lost": {
			err: classified(cloudapi.NotFound, "404"), class: cloudapi.Unavailable,
			text: "the outcome is unknown", polls: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newToy(time.Second)
				c.waitVerb = time.Minute
				c.fail = func(poll int) error {
					if poll <= 3 {
						return test.err
					}
					return nil
				}
				start := time.Now()
				err := c.waiter(operations.Options{}).Do(t.Context(), request("x", "v"), c.set("x", "v"))
				if got := cloudapi.ClassOf(err); got != test.class || err != nil && !strings.Contains(err.Error(), test.text) {
					t.Errorf("got %v, want class %q", err, test.class)
				}
				verifyCounts(t, c, 1, test.polls)
				if took := time.Since(start); cloudapi.Is(test.err, cloudapi.Throttled) && took < 3*time.Minute {
					t.Errorf("the polls took %v, so Retry-After was ignored", took)
				}
			})
		})
	}
}

func TestEqualRequestsShareOneOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb, c.latency = 2*time.Minute, time.Second
		w := c.waiter(operations.Options{})
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond) // some join the request, some the operation
				if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		verifyCounts(t, c, 1, 1)
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 2, 2) // the first one has ended
	})
}

func TestDifferentRequestsHaveTheirOwnOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb = 2 * time.Minute
		w := c.waiter(operations.Options{})
		var group sync.WaitGroup
		for _, target := range []string{"x", "y", "z"} {
			group.Go(func() { _ = w.Do(t.Context(), request(target, "v"), c.set(target, "v")) })
		}
		group.Wait()
		verifyCounts(t, c, 3, 3)
		for _, target := range []string{"x", "y", "z"} {
			if c.object(target) != "v" {
				t.Errorf("%s is %q", target, c.object(target))
			}
		}
	})
}

func TestCanceledWaitLeavesTheOperationRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb = 2 * time.Minute
		w := c.waiter(operations.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := w.Do(ctx, request("x", "v"), c.set("x", "v")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if c.inFlight != 0 {
			t.Error("polls continue although nobody waits")
		}
		if pending := w.Pending("x"); len(pending) != 1 {
			t.Errorf("pending: %v", pending)
		}
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 1, 2)
		if c.object("x") != "v" || len(w.Pending("x")) != 0 {
			t.Errorf("the object is %q, pending are %v", c.object("x"), w.Pending("x"))
		}
	})
}

func TestCanceledWaitDoesNotEndTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb = 2 * time.Minute
		w := c.waiter(operations.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			if err := w.Do(ctx, request("x", "v"), c.set("x", "v")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		verifyCounts(t, c, 1, 1)
	})
}

func TestWaitDoesNotJoinPollsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb, c.deaf = 2*time.Minute, true
		w := c.waiter(operations.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_ = w.Do(ctx, request("x", "v"), c.set("x", "v"))
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		verifyCounts(t, c, 1, 2)
	})
}

func TestCanceledCallerDoesNotCancelTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb, c.latency = 2*time.Minute, 5*time.Second
		w := c.waiter(operations.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Start(ctx, request("x", "v"), c.set("x", "v")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 1, 1)
	})
}

func TestRequestWithoutReplyIsRepeatedWithItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(time.Second)
		c.loseReply = 1
		w := c.waiter(operations.Options{})
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("got %v", err)
		}
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.requestIDs, " "); got != "request-1 request-1" {
			t.Errorf("request IDs: %s", got)
		}
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.requestIDs, " "); got != "request-1 request-1 request-2" {
			t.Errorf("request IDs: %s", got)
		}
	})
}

func TestRefusalForgetsTheID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(0)
		w := c.waiter(operations.Options{})
		for _, c.refuse = range []error{classified(cloudapi.Unavailable, "503"), classified(cloudapi.Invalid, "400"), nil} {
			if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); !errors.Is(err, c.refuse) {
				t.Errorf("got %v, want %v", err, c.refuse)
			}
		}
		if got := strings.Join(c.requestIDs, " "); got != "request-1 request-1 request-2" {
			t.Errorf("request IDs: %s", got)
		}
	})
}

func TestAnswerToAnotherRequestForgetsTheID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(0)
		c.loseReply = 1
		w := c.waiter(operations.Options{})
		_ = w.Do(t.Context(), request("x", "v"), c.set("x", "v"))
		for _, value := range []string{"w", "v"} {
			if err := w.Do(t.Context(), request("x", value), c.set("x", value)); err != nil {
				t.Error(err)
			}
		}
		if got := c.object("x"); got != "v" {
			t.Errorf("the object is %q: the cloud took the last request for a repetition of the first", got)
		}
	})
}

func TestOldRequestIDsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(0)
		c.loseReply = 1
		w := c.waiter(operations.Options{})
		_ = w.Do(t.Context(), request("x", "v"), c.set("x", "v"))
		time.Sleep(operations.DefaultMaxAge + time.Second)
		_ = w.Do(t.Context(), request("x", "v"), c.set("x", "v"))
		if got := strings.Join(c.requestIDs, " "); got != "request-1 request-2" {
			t.Errorf("request IDs: %s", got)
		}
	})
}

func TestOperationThatNeverEndsIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(time.Second)
		c.waitVerb = time.Minute
		c.setFaults(sim.OperationFault{Kind: sim.OperationNeverEnds})
		w := c.waiter(operations.Options{Budget: 2})
		for range 2 {
			if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); !cloudapi.Is(err, cloudapi.Unavailable) {
				t.Errorf("got %v", err)
			}
		}
		verifyCounts(t, c, 1, 4)
		time.Sleep(operations.DefaultMaxAge)
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 2, 5)
	})
}

func TestPollsOfAllOperationsShareOneRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(time.Second)
		c.waitVerb = 2 * time.Minute
		w := c.waiter(operations.Options{Limit: cloudapi.Limit{QPS: 5, Burst: 5}})
		var group sync.WaitGroup
		for i := range 30 {
			target := string(rune('a' + i))
			group.Go(func() {
				if err := w.Do(t.Context(), request(target, "v"), c.set(target, "v")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := c.pollTimes[29].Sub(c.pollTimes[0]); took < 5*time.Second-time.Millisecond || took > 6*time.Second {
			t.Errorf("30 polls took %v, want a burst of 5 and 5 per second", took)
		}
		verifyCounts(t, c, 30, 30)
	})
}

// A goroutine of the waiter serves several callers: a panic in it is the error of each, and the waiter goes on.
func TestPanicIsTheErrorOfItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(time.Second)
		w := c.waiter(operations.Options{})
		var panicked *panics.Error
		err := w.Do(t.Context(), request("x", "v"), func(context.Context, string) (operations.Operation, error) {
			panic("defect")
		})
		if !errors.As(err, &panicked) {
			t.Errorf("got %v", err)
		}
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
	})
}
