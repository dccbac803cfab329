package operations_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/operations"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// restarted returns a cloud with an operation on x that another process has started, and a new waiter.
func restarted(t *testing.T, faults ...sim.OperationFault) (*toy, *operations.Waiter) {
	t.Helper()
	c := newToy(10 * time.Second)
	c.waitVerb = 2 * time.Minute
	c.setFaults(faults...)
	if _, err := c.waiter(operations.Options{}).Start(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
		t.Fatal(err)
	}
	return c, c.waiter(operations.Options{})
}

func TestResumeWaitsForOperationsOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := restarted(t)
		if err := w.Resume(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if c.object("x") != "v" {
			t.Error("Resume returned before the end")
		}
		verifyCounts(t, c, 1, 1)
		if err := w.Resume(t.Context(), "other"); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 1, 1)
	})
}

func TestResumeReturnsTheLateError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := classified(cloudapi.Quota, "quota exceeded")
		_, w := restarted(t, sim.OperationFault{Kind: sim.OperationFails, Err: quota})
		if err := w.Resume(t.Context(), "x"); !cloudapi.Is(err, cloudapi.Quota) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAdoptedOperationAnswersTheRequestWithoutReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToy(10 * time.Second)
		c.waitVerb, c.loseReply = 2*time.Minute, 1
		w := c.waiter(operations.Options{})
		_ = w.Do(t.Context(), request("x", "v"), c.set("x", "v"))
		running, err := c.Running(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		w.Adopt(running...)
		if err := w.Do(t.Context(), request("x", "v"), c.set("x", "v")); err != nil {
			t.Error(err)
		}
		verifyCounts(t, c, 1, 1)
	})
}

func TestBusyTargetIsWaitedForOnce(t *testing.T) {
	busy := classified(cloudapi.Conflict, "another operation is in progress")
	tests := map[string]struct {
		// named is set if the response names the operation.
		named  bool
		target string
		// refusals is the number of calls that are refused.
		refusals   int
		calls      int
		lists      int
		wantBusy   bool
		wantWaited bool
	}{
		"the response names it":        {named: true, target: "x", refusals: 1, calls: 2, wantWaited: true},
		"a read finds it":              {target: "x", refusals: 1, calls: 2, lists: 1, wantWaited: true},
		"nothing runs":                 {target: "y", refusals: 1, calls: 1, lists: 1, wantBusy: true},
		"busy again after the wait":    {named: true, target: "x", refusals: 2, calls: 2, wantBusy: true, wantWaited: true},
		"not busy, so nothing is read": {target: "x", calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w := restarted(t)
				running, _ := c.Running(t.Context(), "x")
				c.lists = 0
				calls := 0
				start := time.Now()
				_, err := w.Start(t.Context(), request(test.target, "w"),
					func(ctx context.Context, id string) (operations.Operation, error) {
						if calls++; calls <= test.refusals {
							refusal := &operations.BusyError{Err: busy}
							if test.named {
								refusal.Operations = running
							}
							return operations.Operation{}, refusal
						}
						return c.set(test.target, "w")(ctx, id)
					})
				if errors.Is(err, busy) != test.wantBusy || !test.wantBusy && err != nil {
					t.Errorf("got %v", err)
				}
				if test.wantBusy && !cloudapi.Is(err, cloudapi.Conflict) {
					t.Errorf("class %s", cloudapi.ClassOf(err))
				}
				if calls != test.calls || c.lists != test.lists {
					t.Errorf("%d calls and %d lists, want %d and %d", calls, c.lists, test.calls, test.lists)
				}
				if waited := time.Since(start) == 10*time.Second; waited != test.wantWaited {
					t.Errorf("took %v", time.Since(start))
				}
			})
		})
	}
}
