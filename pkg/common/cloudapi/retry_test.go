package cloudapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var (
	read       = Request{Operation: "List"}
	create     = Request{Operation: "Create", Mutating: true}
	setMembers = Request{Operation: "SetMembers", Mutating: true, Idempotent: true}
)

func failed(class Class) error {
	return &Error{Class: class, Operation: "op", Err: errors.New("cause")}
}

func TestRetryNext(t *testing.T) {
	after := func(d time.Duration) error {
		return &Error{Class: Throttled, Operation: "op", RetryAfter: d, Err: errors.New("slow down")}
	}
	tests := []struct {
		name    string
		request Request
		attempt int
		err     error
		random  float64
		wait    time.Duration
		again   bool
	}{
		{name: "success", request: read, attempt: 1},
		{name: "throttled read", request: read, attempt: 1, err: failed(Throttled), wait: 50 * time.Millisecond, again: true},
		{name: "throttled creation: it was not done", request: create, attempt: 1, err: failed(Throttled), wait: 50 * time.Millisecond, again: true},
		{name: "unavailable read", request: read, attempt: 1, err: failed(Unavailable), wait: 50 * time.Millisecond, again: true},
		{name: "unavailable creation: it may have been done", request: create, attempt: 1, err: failed(Unavailable)},
		{name: "unavailable, idempotent", request: setMembers, attempt: 1, err: failed(Unavailable), wait: 50 * time.Millisecond, again: true},
		{name: "second wait doubles", request: read, attempt: 2, err: failed(Unavailable), wait: 100 * time.Millisecond, again: true},
		{name: "waits have a limit", request: read, attempt: 4, err: failed(Unavailable), wait: 150 * time.Millisecond, again: true},
		{name: "jitter", request: read, attempt: 2, err: failed(Unavailable), random: 0.5, wait: 150 * time.Millisecond, again: true},
		{name: "last attempt", request: read, attempt: 5, err: failed(Unavailable)},
		{name: "the cloud names the wait", request: create, attempt: 1, err: after(7 * time.Second), random: 0.5, wait: 7050 * time.Millisecond, again: true},
		{name: "Retry-After is too long", request: read, attempt: 1, err: after(time.Hour)},
		{name: "not found", request: read, attempt: 1, err: failed(NotFound)},
		{name: "already exists", request: create, attempt: 1, err: failed(AlreadyExists)},
		{name: "conflict", request: create, attempt: 1, err: failed(Conflict)},
		{name: "denied", request: read, attempt: 1, err: failed(Denied)},
		{name: "quota", request: create, attempt: 1, err: failed(Quota)},
		{name: "invalid", request: read, attempt: 1, err: failed(Invalid)},
		{name: "canceled", request: read, attempt: 1, err: context.Canceled},
		{name: "unknown", request: read, attempt: 1, err: errors.New("what")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Retry{Attempts: 5, Base: 100 * time.Millisecond, Max: 300 * time.Millisecond,
				Random: func() float64 { return tt.random }}
			wait, again := r.Next(tt.request, tt.attempt, tt.err)
			if wait != tt.wait || again != tt.again {
				t.Errorf("got %v, %v; want %v, %v", wait, again, tt.wait, tt.again)
			}
		})
	}
}

func TestRetryDefaults(t *testing.T) {
	total, attempts := time.Duration(0), 1
	for {
		wait, again := (Retry{}).Next(read, attempts, failed(Unavailable))
		if !again {
			break
		}
		if longest := DefaultRetryBase << (attempts - 1); wait < longest/2 || wait > longest {
			t.Errorf("wait %d is %v, want between half and all of %v", attempts, wait, longest)
		}
		total += wait
		attempts++
	}
	if attempts != DefaultAttempts || total > 2*time.Second {
		t.Errorf("%d attempts with %v of waiting, want %d and no more than 2s", attempts, total, DefaultAttempts)
	}
	if _, again := (Retry{Attempts: 1}).Next(read, 1, failed(Throttled)); again {
		t.Error("one attempt was repeated")
	}
}

func TestRetryDo(t *testing.T) {
	tests := []struct {
		name    string
		request Request
		answers []error // the last one repeats
		timeout time.Duration
		calls   int
		took    time.Duration
		class   Class
	}{
		{name: "success at once", request: create, answers: []error{nil}, calls: 1},
		{name: "success later", request: read, answers: []error{failed(Unavailable), failed(Throttled), nil}, calls: 3, took: 3 * time.Second},
		{name: "never", request: read, answers: []error{failed(Unavailable)}, calls: 4, took: 7 * time.Second, class: Unavailable},
		{name: "not to be repeated", request: create, answers: []error{failed(Unavailable), nil}, calls: 1, class: Unavailable},
		{name: "fatal after a retry", request: read, answers: []error{failed(Throttled), failed(Denied)}, calls: 2, took: time.Second, class: Denied},
		{
			name: "no wait that the deadline would cut short", request: read, timeout: 2500 * time.Millisecond,
			answers: []error{failed(Unavailable)}, calls: 2, took: time.Second, class: Unavailable,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				r := Retry{Attempts: 4, Base: 2 * time.Second, Max: time.Minute, Random: func() float64 { return 0 }}
				start, calls := time.Now(), 0
				err := r.Do(ctx, tt.request, func(context.Context) error {
					calls++
					return tt.answers[min(calls, len(tt.answers))-1]
				})
				if ClassOf(err) != tt.class || calls != tt.calls || time.Since(start) != tt.took {
					t.Errorf("%q after %d calls and %v; want %q, %d, %v",
						ClassOf(err), calls, time.Since(start), tt.class, tt.calls, tt.took)
				}
			})
		})
	}
}

func TestRetryDoStopsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start, calls := time.Now(), 0
		err := Retry{Base: time.Hour, Max: time.Hour}.Do(ctx, read, func(context.Context) error {
			calls++
			return failed(Unavailable)
		})
		if !Is(err, Unavailable) || calls != 1 || time.Since(start) != time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
		}
	})
}
