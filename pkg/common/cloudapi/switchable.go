package cloudapi

import (
	"net/http"
	"sync"
)

// connsPerHost is the maximum number of concurrent requests to a host, and of idle connections to it. Hundreds of
// workers may send requests at once: the rest of such a burst queues here, and not in an API that others share. With
// Go's default of 2 idle connections most requests of a burst would open a new one.
const connsPerHost = 32

// Switchable is a round tripper whose base is set after clients are created with it, or changes with certificates.
// Without a base it is http.DefaultTransport. It is safe for concurrent use.
type Switchable struct {
	mu   sync.RWMutex
	base http.RoundTripper
}

var _ http.RoundTripper = (*Switchable)(nil)

// Set sets the base of all later requests, and closes idle connections of the previous one. It adapts the
// connection limits of a *http.Transport to connsPerHost.
func (s *Switchable) Set(base http.RoundTripper) {
	if own, ok := base.(*http.Transport); ok {
		own.MaxIdleConnsPerHost = max(own.MaxIdleConnsPerHost, connsPerHost)
		if own.MaxConnsPerHost == 0 {
			own.MaxConnsPerHost = connsPerHost
		}
	}
	s.mu.Lock()
	before := s.base
	s.base = base
	s.mu.Unlock()
	CloseIdle(before)
}

// Known reports whether a base is set.
func (s *Switchable) Known() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.base != nil
}

// RoundTrip implements http.RoundTripper.
func (s *Switchable) RoundTrip(req *http.Request) (*http.Response, error) {
	return s.get().RoundTrip(req)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (s *Switchable) CloseIdleConnections() { CloseIdle(s.get()) }

func (s *Switchable) get() http.RoundTripper {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.base == nil {
		return http.DefaultTransport
	}
	return s.base
}

// CloseIdle closes idle connections of a round tripper if it supports that, for round trippers that wrap another one.
func CloseIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
