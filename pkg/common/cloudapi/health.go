package cloudapi

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// failureThreshold is the number of consecutive failed requests after which a service counts as failing. One
// call with its retries reaches it (DefaultAttempts); a single lost response does not.
const failureThreshold = 3

// Health tracks the health of each service of a cloud, from the requests that TransportOptions.Observe
// reports. It is safe for concurrent use.
type Health struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	services map[string]*serviceHealth
}

type serviceHealth struct {
	// failures counts the consecutive failed requests: the first was at failingSince, last is the most recent one.
	failures     int
	failingSince time.Time
	last         Call
	// err is the error of Set, and since when it was set first.
	err   error
	since time.Time
}

// NewHealth returns a Health in which every service is healthy.
func NewHealth(c clock.PassiveClock) *Health {
	return &Health{clock: c, services: map[string]*serviceHealth{}}
}

// Observe records a finished request. A request without a response, a failure of the service and a denial are
// failures; any other response shows that the service works. Throttled and unsent requests count as
// neither.
func (h *Health) Observe(call Call) {
	if !call.Sent || call.Class == Canceled || call.Class == Throttled {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.serviceLocked(call.Service)
	if call.Class != Unavailable && call.Class != Denied {
		s.failures = 0
		return
	}
	if s.failures == 0 {
		s.failingSince = h.clock.Now()
	}
	s.failures++
	s.last = call
}

// Set sets an error of a service that no request shows, such as missing credentials. Nil clears it. Failed
// requests are recorded independently.
func (h *Health) Set(service string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.serviceLocked(service)
	if err != nil && s.err == nil {
		s.since = h.clock.Now()
	}
	s.err = err
}

// Err returns the error of the first failing service, and since when it fails; nil if all are healthy.
func (h *Health) Err(services ...string) (since time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, service := range services {
		s := h.services[service]
		switch {
		case s == nil:
		case s.err != nil:
			return s.since, s.err
		case s.failures >= failureThreshold:
			return s.failingSince, fmt.Errorf("the last %d requests to the service %s failed, most recently %s: %s (%s)",
				s.failures, service, s.last.Operation, s.last.Class, s.last.Code)
		}
	}
	return time.Time{}, nil
}

func (h *Health) serviceLocked(service string) *serviceHealth {
	s := h.services[service]
	if s == nil {
		s = &serviceHealth{}
		h.services[service] = s
	}
	return s
}
