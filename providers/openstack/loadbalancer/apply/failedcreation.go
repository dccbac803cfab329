package apply

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Octavia may accept a load balancer and fail to build it. The load balancer is then in the state ERROR,
// which only its deletion ends. A single failure may have a temporary cause, such as a full host, and is
// retried at once. A second failure of the same load balancer, and any failure with a known cause, would
// repeat with every retry: the load balancer is kept, and created again after an exponential backoff, or when
// the Service requests different settings. These constants bound the backoff.
const (
	MinCreationBackoff = 5 * time.Minute
	maxCreationBackoff = time.Hour
)

// failedCreations records the load balancers that Octavia could not build. It is safe for concurrent use.
type failedCreations struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	byService map[types.NamespacedName]failedCreation
}

type failedCreation struct {
	// digest is the digest of the creation's settings.
	digest string
	count  int
	until  time.Time
	// cause is the reason of the failure with its fix, if it is known.
	cause string
}

// record records a failure and returns the error about it.
func (f *failedCreations) record(service types.NamespacedName, id, digest, cause string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.byService[service]
	if failed.digest != digest {
		failed = failedCreation{digest: digest}
	}
	failed.count++
	failed.cause = cause
	backoff := min(MinCreationBackoff<<min(max(failed.count-2, 0), 10), maxCreationBackoff)
	switch {
	case cause != "":
		backoff = maxCreationBackoff
	case failed.count == 1:
		backoff = 0
	}
	failed.until = f.clock.Now().Add(backoff)
	f.byService[service] = failed
	return failed.newError(id, backoff)
}

// check returns an error if a load balancer in the state ERROR must not be replaced by one with the same
// settings yet.
func (f *failedCreations) check(service types.NamespacedName, id, digest string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed, ok := f.byService[service]
	remaining := failed.until.Sub(f.clock.Now())
	if !ok || failed.digest != digest || remaining <= 0 {
		return nil
	}
	return failed.newError(id, remaining)
}

// forget removes the failures of a load balancer that was built.
func (f *failedCreations) forget(service types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byService, service)
}

func (c failedCreation) newError(id string, retryAfter time.Duration) error {
	next := "it is created again when the Service is synced next"
	if retryAfter > 0 {
		next = fmt.Sprintf("it is kept, and created again when the Service changes, or in %s", retryAfter.Round(time.Second))
	}
	cause := cmp.Or(c.cause, "ask the cloud's operator for the reason")
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + id, RetryAfter: retryAfter,
		Err: fmt.Errorf("its creation failed in Octavia, and left it in the state ERROR: %s; %s", cause, next)}
}
