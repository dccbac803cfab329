package gctuning

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentGrowsWithLiveHeap(t *testing.T) {
	for live, want := range map[uint64]int{0: 25, 10 << 20: 25, 25 << 20: 25, 40 << 20: 40, 100 << 20: 100, 4 << 30: 100} {
		if got := percentOf(live); got != want {
			t.Errorf("percent of a live heap of %d MiB is %d, want %d", live>>20, got, want)
		}
	}
}

// This test is before the next one, because tuning never ends.
func TestStartKeepsSettingOfEnvironment(t *testing.T) {
	before := debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for _, variable := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("GOGC", "")
			t.Setenv("GOMEMLIMIT", "")
			t.Setenv(variable, "77")
			Start()
			if got := debug.SetGCPercent(77); got != 77 {
				t.Errorf("GC percent is %d", got)
			}
		})
	}
}

func TestStartFollowsHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	Start()
	awaitPercent(t, func(percent uint64) bool { return percent == minPercent })
	large := make([]byte, 60<<20)
	awaitPercent(t, func(percent uint64) bool { return percent >= 60 && percent < 80 })
	runtime.KeepAlive(large)
	awaitPercent(t, func(percent uint64) bool { return percent == minPercent })
}

// awaitPercent collects garbage until the GC percent satisfies the condition.
func awaitPercent(t *testing.T, reached func(percent uint64) bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		percent := sample[0].Value.Uint64()
		if reached(percent) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("GC percent is %d", percent)
		}
		runtime.Gosched()
	}
}
