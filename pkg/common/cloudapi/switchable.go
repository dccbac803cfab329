package cloudapi

import (
	"net/http"
	"sync"
)

// connsPerHost is the maximum number of concurrent requests to a host, and of idle connections to it. Hundreds of
// workers may send requests at once: the rest of such a burst queues here, and not in an API that others share. With
// Go's default of 2 idle connections most requests of a burst would open a new one.
const connsPerHost = 32

// SwitchableTransport is a round tripper with a base that is set after clients are created with it, or that changes
// with certificates. Without a base it is http.DefaultTransport. It is safe for concurrent use.
type SwitchableTransport struct {
	mu   sync.RWMutex
	base http.RoundTripper
}

var _ http.RoundTripper = (*SwitchableTransport)(nil)

// Set sets the base of all later requests, and closes idle connections of the previous one. It adapts the
// connection limits of a *http.Transport to connsPerHost.
func (s *SwitchableTransport) Set(base http.RoundTripper) {
	if transport, ok := base.(*http.Transport); ok {
		transport.MaxIdleConnsPerHost = max(transport.MaxIdleConnsPerHost, connsPerHost)
		if transport.MaxConnsPerHost == 0 {
			transport.MaxConnsPerHost = connsPerHost
		}
	}
	s.mu.Lock()
	previous := s.base
	s.base = base
	s.mu.Unlock()
	CloseIdleConnections(previous)
}

// HasBase reports whether a base is set.
func (s *SwitchableTransport) HasBase() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.base != nil
}

// RoundTrip implements http.RoundTripper.
func (s *SwitchableTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return s.get().RoundTrip(req)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (s *SwitchableTransport) CloseIdleConnections() { CloseIdleConnections(s.get()) }

func (s *SwitchableTransport) get() http.RoundTripper {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.base == nil {
		return http.DefaultTransport
	}
	return s.base
}

// CloseIdleConnections closes idle connections of a round tripper if it supports that, for round trippers that wrap
// another one.
func CloseIdleConnections(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
