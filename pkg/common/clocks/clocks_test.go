package clocks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSleep(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		d    time.Duration
		want error
		took time.Duration
	}{
		{name: "sleeps", d: time.Minute, took: time.Minute},
		{name: "zero", d: 0},
		{name: "negative", d: -time.Second},
		{name: "context ended before", ctx: canceled, d: time.Minute, want: context.Canceled},
		{name: "context ended before, zero", ctx: canceled, d: 0, want: context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := tt.ctx
				if ctx == nil {
					ctx = t.Context()
				}
				start := time.Now()
				if err := Sleep(ctx, clock.RealClock{}, tt.d); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestSleepStopsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := Sleep(ctx, clock.RealClock{}, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
	})
}

func TestOrReal(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Time{})
	if OrReal(fake) != fake {
		t.Error("a given clock was replaced")
	}
	if OrReal(nil) != (clock.RealClock{}) {
		t.Error("nil is not the real clock")
	}
}
