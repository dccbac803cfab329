// Package refusal remembers what AWS refused although what it replaces was removed before.
package refusal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// FirstAge and LastAge bound how long what AWS refused is not tried again: each attempt closes ports or leaves a zone
// for a moment, and breaks connections. The cause may end soon, such as a certificate that is not yet issued, so the
// time is short at first. It doubles with each refusal.
const (
	FirstAge = time.Minute
	LastAge  = 24 * time.Hour
)

// Memory has the last refusals of load balancers. It is safe for concurrent use.
type Memory struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[key]refusal
}

// key has the name of the load balancer, and the kind of what AWS refused.
type key struct{ name, kind string }

// NewMemory returns an empty Memory.
func NewMemory(c clock.PassiveClock) *Memory { return &Memory{clock: c, last: map[key]refusal{}} }

type refusal struct {
	// want are the texts of what was wanted.
	want []string
	err  error
	// age is the time between the refusal and until.
	age   time.Duration
	until time.Time
}

// Add records that AWS refused what was wanted. It returns the error with the time of the next attempt.
func (r *Memory) Add(name, kind string, want []string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, age := key{name, kind}, FirstAge
	if last, ok := r.last[at]; ok && slices.Equal(last.want, want) {
		age = min(2*last.age, LastAge)
	}
	until := r.clock.Now().Add(age)
	err = fmt.Errorf("%w; the same is not tried again before %s", err, until.UTC().Format(time.RFC3339))
	r.last[at] = refusal{want, err, age, until}
	return err
}

// restoreWait is the first wait before what was restored without success is restored again.
const restoreWait = time.Second

// Refused is what AWS refused: the name of the load balancer, the kind, the texts of what was wanted, and what an error
// calls that which was removed for it.
type Refused struct {
	Name, Kind string
	Want       []string
	Removed    string
}

// Restore records a refusal, and makes again what was removed for it. Nothing else would: the next reconcile does not
// know what there was. So it is repeated for some seconds if AWS is busy. It returns the error of the refusal, which
// names what could not be restored.
func (r *Memory) Restore(ctx context.Context, c clock.Clock, what Refused, refusal error,
	again func(context.Context) error) error {
	refusal = r.Add(what.Name, what.Kind, what.Want, refusal)
	retry := cloudapi.Retry{Base: restoreWait, Clock: c}
	if err := retry.Do(ctx, cloudapi.Request{Mutating: true, Idempotent: true}, again); err != nil {
		return fmt.Errorf("%w; restoring the %s before failed: %w", refusal, what.Removed, err)
	}
	return refusal
}

// Of returns the error with which AWS refused the same before, nil if it did not or if it is time to try again.
func (r *Memory) Of(name, kind string, want []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[key{name, kind}]
	if !ok || !slices.Equal(last.want, want) || !r.clock.Now().Before(last.until) {
		return nil
	}
	return last.err
}

// Keep forgets what is recorded about a load balancer unless all of it is still among what is wanted: its Service was
// edited since, and may get the same settings again once AWS accepts them.
func (r *Memory) Keep(name, kind string, want []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, refused := range r.last[key{name, kind}].want {
		if !slices.Contains(want, refused) {
			delete(r.last, key{name, kind})
		}
	}
}

// Forget removes what is recorded about a load balancer.
func (r *Memory) Forget(name string, kinds ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kind := range kinds {
		delete(r.last, key{name, kind})
	}
}
