package snapshot_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

var errRead = errors.New("refused")

// counter is a read that returns how often it was called, or fails.
type counter struct {
	calls int
	err   error
}

func (c *counter) read(context.Context) (int, error) {
	c.calls++
	return c.calls, c.err
}

func TestValueIsReadOncePerAge(t *testing.T) {
	for _, tc := range []struct {
		name      string
		age, wait time.Duration
		want      int
	}{
		{"fresh", time.Minute, 59 * time.Second, 1},
		{"stale", time.Minute, time.Minute, 2},
		{"forever", 0, 1000 * time.Hour, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			v := snapshot.NewValue(snapshot.ValueOptions[int]{Read: (&counter{}).read, Clock: clock, MaxAge: tc.age})
			if _, known := v.Peek(); known {
				t.Error("a value is known before the first read")
			}
			for range 2 {
				if got, err := v.Get(t.Context()); got != 1 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			}
			clock.SetTime(clock.Now().Add(tc.wait))
			if got, known := v.Peek(); got != 1 || !known {
				t.Errorf("peek: %d, %t", got, known)
			}
			if got, err := v.Get(t.Context()); got != tc.want || err != nil {
				t.Errorf("later: got %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

// The answer of a read may show the state at its start.
func TestValueAgeCountsFromStartOfRead(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	calls := 0
	read := func(context.Context) (int, error) {
		clock.SetTime(clock.Now().Add(40 * time.Second))
		calls++
		return calls, nil
	}
	v := snapshot.NewValue(snapshot.ValueOptions[int]{Clock: clock, MaxAge: time.Minute, Read: read})
	for range 2 {
		if _, err := v.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(20 * time.Second))
	}
	if calls != 2 {
		t.Errorf("%d reads, want 2", calls)
	}
}

func TestValueGetSince(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	v := snapshot.NewValue(snapshot.ValueOptions[int]{Read: (&counter{}).read, Clock: clock})
	before := clock.Now()
	for _, step := range []struct {
		since time.Time
		want  int
	}{{before, 1}, {before, 1}, {before.Add(1), 2}} {
		if got, err := v.GetSince(t.Context(), step.since); got != step.want || err != nil {
			t.Errorf("since %v: got %d, %v; want %d", step.since.Sub(before), got, err, step.want)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
}

func TestValueRemembersFailure(t *testing.T) {
	for _, tc := range []struct {
		name             string
		retryAfter, wait time.Duration
		wantCalls        int
	}{
		{"not remembered", 0, 0, 2},
		{"remembered until RetryAfter", time.Minute, 59 * time.Second, 1},
		{"forgotten afterwards", time.Minute, time.Minute, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			c := &counter{err: errRead}
			v := snapshot.NewValue(snapshot.ValueOptions[int]{Read: c.read, Clock: clock, RetryAfter: tc.retryAfter})
			for range 2 {
				if got, err := v.Get(t.Context()); got != 0 || !errors.Is(err, errRead) {
					t.Errorf("got %d, %v", got, err)
				}
				clock.SetTime(clock.Now().Add(tc.wait))
			}
			if c.calls != tc.wantCalls {
				t.Errorf("%d reads, want %d", c.calls, tc.wantCalls)
			}
		})
	}
}

func TestValueOutlivesFailedRead(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	c := &counter{}
	v := snapshot.NewValue(snapshot.ValueOptions[int]{Read: c.read, Clock: clock, MaxAge: time.Minute, RetryAfter: time.Hour})
	if _, err := v.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.err = errRead
	if _, err := v.GetSince(t.Context(), clock.Now().Add(1)); !errors.Is(err, errRead) {
		t.Errorf("error %v", err)
	}
	if got, err := v.Get(t.Context()); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if _, err := v.Get(t.Context()); !errors.Is(err, errRead) {
		t.Errorf("a stale value hides the failure: %v", err)
	}
	if got, known := v.Peek(); got != 1 || !known {
		t.Errorf("peek: %d, %t", got, known)
	}
}

func TestValueSharesReadInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		read := func(ctx context.Context) (int, error) {
			time.Sleep(time.Second) // on the bubble's clock
			return c.read(ctx)
		}
		clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
		v := snapshot.NewValue(snapshot.ValueOptions[int]{Clock: clock, MaxAge: time.Minute, Read: read})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got, err := v.Get(t.Context()); got != 1 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
		wg.Wait()
		if c.calls != 1 {
			t.Errorf("%d reads for callers that came together", c.calls)
		}
	})
}

// A caller that waits gives up with its context. One that gives up while it reads leaves the read, and not
// its error, to the next caller.
func TestValueGivesUpWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
		read := func(ctx context.Context) (int, error) {
			if ctx.Value(answered{}) == nil {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 7, nil
		}
		v := snapshot.NewValue(snapshot.ValueOptions[int]{Clock: clock, RetryAfter: time.Hour, Read: read})
		reading, stopReading := context.WithCancel(t.Context())
		waiting, stopWaiting := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		get := func(ctx context.Context) { _, err := v.Get(ctx); errs <- err }
		go get(reading)
		synctest.Wait()
		go get(waiting)
		synctest.Wait()
		stopWaiting()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that waits: %v", err)
		}
		stopReading()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that reads: %v", err)
		}
		if got, err := v.Get(context.WithValue(t.Context(), answered{}, true)); got != 7 || err != nil {
			t.Errorf("the next caller: %d, %v", got, err)
		}
	})
}

type answered struct{}
