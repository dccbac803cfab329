// Package faults selects the calls that tests interrupt, and counts the runs.
package faults

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Kinds are the ways in which a call is interrupted.
func Kinds() []sim.FaultKind {
	return []sim.FaultKind{sim.FaultError, sim.FaultThrottle, sim.FaultLostReply, sim.FaultKillBefore, sim.FaultKillAfter}
}

// Affected returns the calls that a kind of fault interrupts. After a read, a killed process leaves the same as before
// it: FaultKillAfter interrupts the mutating calls only, and its numbers count only those.
func Affected(kind sim.FaultKind, calls []sim.Operation) []sim.Operation {
	if kind != sim.FaultKillAfter {
		return calls
	}
	return slices.DeleteFunc(slices.Clone(calls), func(op sim.Operation) bool { return !op.Mutating })
}

// Calls returns 1 to n, or with -short an evenly spread sample, which differs for each kind of fault.
func Calls(n, sample int, kind sim.FaultKind) []int {
	stride, first := 1, 0
	if testing.Short() {
		stride = max(1, n/sample)
		first = slices.Index(Kinds(), kind) * stride / len(Kinds())
	}
	var out []int
	for call := 1 + first; call <= n; call += stride {
		out = append(out, call)
	}
	return out
}

// Tally counts runs and faults over parallel tests.
type Tally struct {
	mu        sync.Mutex
	scenarios map[string]bool
	runs      int
	faults    int
}

// Add counts a run of a scenario.
func (t *Tally) Add(scenario string, faults int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scenarios == nil {
		t.scenarios = map[string]bool{}
	}
	t.scenarios[scenario] = true
	t.runs++
	t.faults += faults
}

// String is the summary line.
func (t *Tally) String(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("conformance of %s: %d faults injected in %d runs of %d scenarios", name, t.faults, t.runs,
		len(t.scenarios))
}
