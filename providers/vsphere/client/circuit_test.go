package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// A call that ends at the moment at which its caller stops waiting is not in flight any more, so that the circuit must
// not wait for its end.
func TestCircuitClosesAfterCallThatEndsAtItsTimeout(t *testing.T) {
	for range 50 { // The select of both events is random.
		synctest.Test(t, func(t *testing.T) {
			c := newCircuit("vc", clock.RealClock{})
			_, _ = callDetached(t.Context(), c, "Slow", func(context.Context) (int, error) {
				time.Sleep(minWait)
				return 1, nil
			})
			time.Sleep(retryAfter + maxWait)
			if _, err := callDetached(t.Context(), c, "Fast", func(context.Context) (int, error) { return 2, nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestCircuitIsOpenWhileCallIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircuit("vc", clock.RealClock{})
		slow := func(context.Context) (int, error) {
			time.Sleep(2 * minWait)
			return 1, nil
		}
		fast := func(context.Context) (int, error) { return 2, nil }
		if _, err := callDetached(t.Context(), c, "Slow", slow); err == nil {
			t.Error("the caller waited for the slow call")
		}
		if _, err := callDetached(t.Context(), c, "Fast", fast); err == nil {
			t.Error("a call was made while the slow one is in flight")
		}
		time.Sleep(2 * minWait)
		if _, err := callDetached(t.Context(), c, "Fast", fast); err != nil {
			t.Errorf("after the slow call has ended: %v", err)
		}
	})
}

func TestPanicOfADetachedCallIsItsError(t *testing.T) {
	c := newCircuit("vc", clock.RealClock{})
	var panicked *panics.Error
	_, err := callDetached(t.Context(), c, "Defective", func(context.Context) (int, error) { panic("defect") })
	if !errors.As(err, &panicked) {
		t.Errorf("got %v", err)
	}
}
