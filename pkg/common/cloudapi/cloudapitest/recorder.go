// Package cloudapitest counts cloud API requests in tests, from the client's side.
package cloudapitest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Recorder remembers requests: set its Observe as TransportOptions.Observe. The zero value is
// ready. Safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	calls []cloudapi.Call
}

// Observe records a request.
func (r *Recorder) Observe(c cloudapi.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// Calls returns the requests in the order in which they ended, those that were not sent included.
func (r *Recorder) Calls() []cloudapi.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Count returns how many requests of each operation were sent.
func (r *Recorder) Count() map[string]int {
	return r.count(func(cloudapi.Call) bool { return true })
}

// Mutations returns how many requests of each mutating operation were sent.
func (r *Recorder) Mutations() map[string]int {
	return r.count(func(c cloudapi.Call) bool { return c.Mutating })
}

func (r *Recorder) count(which func(cloudapi.Call) bool) map[string]int {
	out := map[string]int{}
	for _, c := range r.Calls() {
		if c.Sent && which(c) {
			out[c.Operation]++
		}
	}
	return out
}

// Reset forgets all requests.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

// Budget is the number of requests that a piece of work may cost, by operation. Operations that
// are not named may not be called at all.
type Budget map[string]int

// Check compares counts, of a Recorder or of a simulator's log, with the budget. The error has
// one line for each operation that is over it.
func (b Budget) Check(count map[string]int) error {
	var over []string
	for _, operation := range slices.Sorted(maps.Keys(count)) {
		if n, most := count[operation], b[operation]; n > most {
			over = append(over, fmt.Sprintf("%s: %d requests, the budget is %d", operation, n, most))
		}
	}
	if over != nil {
		return fmt.Errorf("too many cloud API requests:\n  %s", strings.Join(over, "\n  "))
	}
	return nil
}
