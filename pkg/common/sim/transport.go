package sim

import (
	"net/http"
)

// transport is the front as seen by a client in the same process.
type transport struct{ front *Front }

var _ http.RoundTripper = transport{}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	resp, err := t.front.handle(toServerRequest(r))
	if err != nil {
		return nil, err
	}
	return resp.toHTTP(r), nil
}

// direct is the simulator behind a front, as seen by a client in the same process.
type direct struct{ handler http.Handler }

var _ http.RoundTripper = direct{}

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	in, _, err := readRequest(toServerRequest(r))
	if err != nil {
		return nil, err
	}
	resp := newResponse()
	if runHandler(func() { d.handler.ServeHTTP(resp, in) }) {
		return nil, brokenError()
	}
	resp.WriteHeader(http.StatusOK)
	return resp.toHTTP(r), nil
}

// Transport returns a round tripper that reaches the simulator without sockets. Calls run in the caller's
// goroutine. A broken connection is an error that wraps ErrBroken.
func (f *Front) Transport() http.RoundTripper { return transport{f} }

// Direct returns a round tripper that reaches the simulator without faults, latency and limits, and without the log:
// for what other programs do in the cloud.
func (f *Front) Direct() http.RoundTripper { return direct{f.handler} }
