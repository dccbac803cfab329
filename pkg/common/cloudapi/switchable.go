package cloudapi

import (
	"net/http"
	"sync"
)

// connsPerHost is how many requests one host has to answer at once, and how many connections to it are
// kept. Hundreds of workers, most of which wait for something to settle, may all want to ask at once: the
// rest of such a burst queues here, and not in an API that others use too. With Go's default of 2 that
// are kept most calls of a burst would open a connection of their own.
const connsPerHost = 32

// Switchable is a round tripper whose base is known only after clients have been made with it, or
// changes with certificates. Without a base it is http.DefaultTransport. It is safe for concurrent use.
type Switchable struct {
	mu   sync.RWMutex
	base http.RoundTripper
}

var _ http.RoundTripper = (*Switchable)(nil)

// Set makes all requests from now on go through base. The connections of the one before are closed
// when they are idle. A *http.Transport that keeps fewer connections than a burst needs keeps more, and
// one that opens any number opens no more than that.
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

// Known says whether there is a base.
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

// CloseIdle closes the connections of a round tripper that are idle, if it can: for those that stand
// around another one.
func CloseIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
