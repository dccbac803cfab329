package sim

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// The tests of this file run in bubbles, in which the real clock stands still until all
// goroutines wait for it.

func bubble(t *testing.T, o FrontOptions, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Clock = clock.RealClock{}
		test(newFixture(t, o))
	})
}

// pause lets time pass in a bubble.
func pause(d time.Duration) { <-time.After(d) }

func TestLatency(t *testing.T) {
	bubble(t, FrontOptions{Latency: 20 * time.Millisecond}, func(x *fixture) {
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { x.post(1) })
		}
		wg.Wait()
		if took := time.Since(start); took != 20*time.Millisecond {
			x.t.Errorf("10 calls side by side took %v, want one latency", took)
		}
		for _, c := range x.Log().Calls() {
			if c.Duration != 20*time.Millisecond || !c.At.Equal(start) {
				x.t.Errorf("logged %v for %v, want the arrival and the latency", c.At, c.Duration)
			}
		}
	})
}

// TestCanceledCall ends the client's context during the latency and during the operation.
func TestCanceledCall(t *testing.T) {
	tests := []struct {
		name     string
		timeout  time.Duration
		done     int64
		injected int
	}{
		{name: "during the latency", timeout: 10 * time.Millisecond, done: 0, injected: 0},
		{name: "during the operation", timeout: 30 * time.Millisecond, done: 1, injected: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			slow := &counter{}
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				pause(20 * time.Millisecond)
				slow.ServeHTTP(w, r)
			})
			bubble(t, FrontOptions{Latency: 20 * time.Millisecond, Handler: handler}, func(x *fixture) {
				ctx, cancel := context.WithTimeout(x.t.Context(), tt.timeout)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, nil)
				if err != nil {
					x.t.Fatal(err)
				}
				if _, err := x.client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
					x.t.Errorf("got %v, want the context's error", err)
				}
				if got := slow.done.Load(); got != tt.done {
					x.t.Errorf("done %d times, want %d", got, tt.done)
				}
				calls := x.Log().Calls()
				if len(calls) != 1 || calls[0].Status != 0 || calls[0].Fault != "" {
					x.t.Errorf("log %v, want one call without an answer", calls)
				}
			})
		})
	}
}

// TestHang: a call that hangs ends with its client's deadline, and is not executed.
func TestHang(t *testing.T) {
	world := &counter{}
	bubble(t, FrontOptions{Handler: world}, func(x *fixture) {
		x.SetFaults(Fault{Kind: FaultHang})
		started := time.Now()
		ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, nil)
		if err != nil {
			x.t.Fatal(err)
		}
		if _, err := x.client.Do(req); !errors.Is(err, context.DeadlineExceeded) || time.Since(started) != time.Minute {
			x.t.Errorf("%v after %s, want the context's error after 1m", err, time.Since(started))
		}
		if calls := x.Log().Calls(); len(calls) != 1 || calls[0].Status != 0 || calls[0].Fault != FaultHang {
			x.t.Errorf("log %v, want one call that hung", calls)
		}
		if diff := cmp.Diff([]int{201}, x.post(1)); diff != "" {
			x.t.Errorf("(-want +got):\n%s", diff)
		}
		if done := world.done.Load(); done != 1 {
			x.t.Errorf("%d calls were executed, want the last one", done)
		}
	})
}

func TestCanceledCallHasNoNumber(t *testing.T) {
	bubble(t, FrontOptions{Latency: 20 * time.Millisecond}, func(x *fixture) {
		x.SetFaults(Fault{Kind: FaultError, Call: 1})
		ctx, cancel := context.WithTimeout(x.t.Context(), time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, nil)
		if err != nil {
			x.t.Fatal(err)
		}
		if _, err := x.client.Do(req); err == nil {
			x.t.Error("no error")
		}
		if diff := cmp.Diff([]int{500, 201}, x.post(2)); diff != "" {
			x.t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestKillEndsTheGeneration kills a client with one call waiting and another being done.
func TestKillEndsTheGeneration(t *testing.T) {
	world := &counter{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			pause(time.Minute)
		}
		world.ServeHTTP(w, r)
	})
	bubble(t, FrontOptions{Latency: time.Second, Handler: handler}, func(x *fixture) {
		var kills atomic.Int32
		logged := 0
		x.OnKill(func() { kills.Add(1); logged = x.Log().Len() })
		x.SetFaults(Fault{Kind: FaultKillBefore, Operation: "POST /killed"})

		slow, late := make(chan int, 1), make(chan int, 1)
		go func() { s, _ := x.call(http.MethodPost, "/slow"); slow <- s }()
		pause(time.Second) // /slow is being done now
		go func() {
			pause(time.Second / 2)
			s, _ := x.call(http.MethodPost, "/late")
			late <- s
		}()
		if status, _ := x.call(http.MethodPost, "/killed"); status != 0 {
			x.t.Errorf("the killed call was answered with %d", status)
		}
		if kills.Load() != 1 || logged != 1 {
			x.t.Errorf("OnKill ran %d times with %d calls logged, want once with the killed call", kills.Load(), logged)
		}
		killed := time.Now()
		if status := <-late; status != 0 || time.Since(killed) != 0 {
			x.t.Errorf("the waiting call ended with %d after %v, want a broken connection at once", status, time.Since(killed))
		}
		if status, _ := x.call(http.MethodPost, "/new"); status != 0 || world.done.Load() != 0 {
			x.t.Errorf("a new call of the dead generation: status %d, %d done", status, world.done.Load())
		}
		x.Revive()
		if status, _ := x.call(http.MethodPost, "/new"); status != 201 {
			x.t.Errorf("after Revive: status %d", status)
		}
		if status := <-slow; status != 0 {
			x.t.Errorf("a call from before the kill was answered with %d after Revive", status)
		}
		if world.done.Load() != 2 {
			x.t.Errorf("%d done, want 2: the revived one, and the one that was being done", world.done.Load())
		}
		want := map[string]int{"POST /killed": 1, "POST /new": 1, "POST /slow": 1}
		if diff := cmp.Diff(want, x.Log().Count()); diff != "" {
			x.t.Errorf("log (-want +got):\n%s", diff)
		}
		if x.Injected() != 1 {
			x.t.Errorf("injected %d, want 1", x.Injected())
		}
	})
}

func TestReviveWithoutKillDoesNothing(t *testing.T) {
	bubble(t, FrontOptions{Latency: time.Second}, func(x *fixture) {
		go func() {
			pause(time.Second / 2)
			x.Revive()
		}()
		if diff := cmp.Diff([]int{201}, x.post(1)); diff != "" {
			x.t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestConcurrentCallers checks the books after 200 callers, with every kind of fault at random.
func TestConcurrentCallers(t *testing.T) {
	const callers, calls = 200, 20
	x := newFixture(t, FrontOptions{LogLimit: 50, Seed: 3, ErrorRate: 0.05,
		Limits: map[string]Bucket{ClassWrite: {Rate: 1, Burst: callers * calls / 2}}})
	x.clock.SetTime(epoch)
	var kills atomic.Int64
	x.OnKill(func() { kills.Add(1); x.Revive() })
	x.SetFaults(
		Fault{Kind: FaultLostReply, Rate: 0.05},
		Fault{Kind: FaultThrottle, Rate: 0.05},
		Fault{Kind: FaultKillAfter, Rate: 0.01},
		Fault{Kind: FaultKillBefore, Rate: 0.01},
	)
	var created, broken atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				switch status, _ := x.call(http.MethodPost, "/things"); status {
				case 201:
					created.Add(1)
				case 0:
					broken.Add(1)
				}
				x.Log().Calls()
			}
		})
	}
	wg.Wait()

	stats := x.Log().Stats()
	if len(stats) != 1 {
		t.Fatalf("stats of %d operations, want 1", len(stats))
	}
	s := stats[0]
	refused := callers*calls - s.Calls
	if refused < 0 || int64(s.NoAnswer+refused) != broken.Load() {
		t.Errorf("clients saw %d broken connections; the log has %d, and %d calls were refused", broken.Load(), s.NoAnswer,
			refused)
	}
	if s.Failed+s.NoAnswer+int(created.Load()) != s.Calls {
		t.Errorf("%d failed + %d unanswered + %d created is not %d calls", s.Failed, s.NoAnswer, created.Load(), s.Calls)
	}
	if s.Faulted != x.Injected() || s.Faulted == 0 {
		t.Errorf("%d calls faulted in the log, %d injected", s.Faulted, x.Injected())
	}
	if done := x.world.done.Load(); done < created.Load() || done > created.Load()+int64(s.NoAnswer) {
		t.Errorf("%d operations done for %d answers and %d lost ones", done, created.Load(), s.NoAnswer)
	}
	if kills.Load() == 0 || len(x.Log().Calls()) != 50 {
		t.Errorf("%d kills, %d calls kept", kills.Load(), len(x.Log().Calls()))
	}
}
