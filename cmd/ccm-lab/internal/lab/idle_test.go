package lab

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleStartsAgainAfterCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		idle := NewIdle(time.Second, func() int { return calls })
		for i, step := range []struct {
			after time.Duration
			calls int
			want  bool
		}{
			{0, 0, false}, {999 * time.Millisecond, 0, false}, {time.Millisecond, 0, true},
			{0, 1, false}, {999 * time.Millisecond, 0, false}, {time.Millisecond, 0, true},
		} {
			time.Sleep(step.after)
			calls += step.calls
			if got := idle.Reached(); got != step.want {
				t.Errorf("step %d: idle is %t, want %t", i, got, step.want)
			}
		}
	})
}
