package cloudapi

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// failuresInARow is how many requests to a service must fail, with none that succeeds between them,
// until the service counts as failing. One call with its repetitions reaches it (DefaultAttempts);
// a single lost answer does not.
const failuresInARow = 3

// Health remembers of each service of a cloud whether it answers, from the requests that are made
// anyway: TransportOptions.Observe. It is safe for concurrent use.
type Health struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	services map[string]*serviceHealth
}

type serviceHealth struct {
	failures int
	first    time.Time
	last     Call
	// said is what Set has said, and since when.
	said  error
	since time.Time
}

// NewHealth returns a memory in which every service is well.
func NewHealth(c clock.PassiveClock) *Health {
	return &Health{clock: c, services: map[string]*serviceHealth{}}
}

// Observe learns from a request that has ended. A service fails by no answer, by failures of its own
// and by refusing the credentials; any other answer shows that it works. That the cloud throttles,
// or that a request was never sent, says nothing either way.
func (h *Health) Observe(call Call) {
	if !call.Sent || call.Class == Canceled || call.Class == Throttled {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.ofLocked(call.Service)
	if call.Class != Unavailable && call.Class != Denied {
		s.failures = 0
		return
	}
	if s.failures == 0 {
		s.first = h.clock.Now()
	}
	s.failures++
	s.last = call
}

// Set says of a service what no request shows: that it cannot be called at all, and why. Nil takes
// that back. It says nothing about requests that failed.
func (h *Health) Set(service string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.ofLocked(service)
	if err != nil && s.said == nil {
		s.since = h.clock.Now()
	}
	s.said = err
}

// Err returns why the first of the services that fails does, and since when; nil if all are well.
func (h *Health) Err(services ...string) (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, service := range services {
		s := h.services[service]
		switch {
		case s == nil:
		case s.said != nil:
			return s.since, s.said
		case s.failures >= failuresInARow:
			return s.first, fmt.Errorf("the last %d requests to the service %s failed, most recently %s: %s (%s)",
				s.failures, service, s.last.Operation, s.last.Class, s.last.Code)
		}
	}
	return time.Time{}, nil
}

func (h *Health) ofLocked(service string) *serviceHealth {
	s := h.services[service]
	if s == nil {
		s = &serviceHealth{}
		h.services[service] = s
	}
	return s
}
