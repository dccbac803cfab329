// Package gctuning makes the garbage collector trade CPU time for memory while the heap is small.
package gctuning

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// minPercent and maxPercent bound the GC percent. The upper one is the default of Go.
	minPercent, maxPercent = 25, 100

	liveHeap = "/gc/heap/live:bytes"
)

// Start adjusts the GC percent after each cycle of the garbage collector, unless the environment sets it. It is called
// once, at the start of the process.
//
// A manager of a hundred nodes has a live heap of 10 MiB, a cycle takes milliseconds of CPU time, and at the default
// of 100 a tenth of the process is garbage. In a cluster of thousands of nodes a cycle is expensive, and the default
// holds.
func Start() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		adjust(0)
	}
}

// cycle is unreachable from the start, so that its cleanup runs after the next cycle. It is large enough to have memory
// of its own: small objects share it, and are not cleaned up while another one is in use.
type cycle [64]byte

func adjust(last int) {
	live := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(live)
	percent := percentOf(live[0].Value.Uint64())
	if percent != last {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(cycle), adjust, percent)
}

// percentOf returns the GC percent for a live heap in bytes: one for each MiB, within the bounds.
func percentOf(live uint64) int {
	return int(min(max(live>>20, minPercent), maxPercent))
}
