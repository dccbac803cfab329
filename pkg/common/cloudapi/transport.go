package cloudapi

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// Request is what a cloud's own API reference calls one request.
type Request struct {
	// Service and Operation are metric labels: names from the cloud's API reference, without IDs.
	Service, Operation string
	// Mutating requests change the cloud, or may.
	Mutating bool
	// Idempotent mutations lead to the same state when they are done twice. Reads always are.
	Idempotent bool
}

// TransportOptions configure a transport. Provider and Describe are needed.
type TransportOptions struct {
	// Provider is the provider's registry name and metric label.
	Provider string
	// Base sends the requests. Nil is http.DefaultTransport.
	Base http.RoundTripper
	// Describe names a request. It may read the body through GetBody, which the transport
	// provides where the client did not, and never through Body.
	Describe func(*http.Request) Request
	// Limits are the rate limits that the manager keeps by itself. The zero value has none.
	Limits Limits
	// Clock is what limits and metrics go by. Nil is the real one.
	Clock clock.Clock
	// Classify sorts answers into classes. Nil goes by the HTTP status: ClassifyStatus.
	Classify func(*http.Response, error) Class
	// Observe, where set, is told of every request that was sent or refused. It must be fast and
	// safe for concurrent use.
	Observe func(Call)
}

// Call is one request as the client saw it.
type Call struct {
	Request
	// Code is the HTTP status, or the class where no answer came.
	Code string
	// Class is "" for success.
	Class Class
	// Waited is the time spent for the rate limit; Duration the time from sending to the answer.
	Waited, Duration time.Duration
}

// NewTransport returns the round tripper that all clients of a cloud's API use: it measures and
// logs every request and keeps the rate limits. It makes no retries; those belong to the SDK, or to Retry.
func NewTransport(o TransportOptions) http.RoundTripper {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	if o.Classify == nil {
		o.Classify = ClassifyStatus
	}
	o.Clock = clocks.OrReal(o.Clock)
	m := shared()
	m.set.Register()
	return &transport{o: o, metrics: m}
}

type transport struct {
	o       TransportOptions
	metrics *instruments
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	call := Call{Request: t.o.Describe(req)}
	start := t.o.Clock.Now()
	inFlight := t.metrics.inFlight.WithLabelValues(t.o.Provider, call.Service)
	inFlight.Inc()
	resp, err := t.o.Base.RoundTrip(req)
	inFlight.Dec()
	call.Duration = t.o.Clock.Since(start)
	call.Class = t.o.Classify(resp, err)
	call.Code = string(call.Class)
	if err == nil {
		call.Code = strconv.Itoa(resp.StatusCode)
	}
	t.metrics.duration.WithLabelValues(t.o.Provider, call.Service, call.Operation, call.Code).Observe(call.Duration.Seconds())
	if t.o.Observe != nil {
		t.o.Observe(call)
	}
	klog.FromContext(req.Context()).V(4).Info("Cloud API request", "provider", t.o.Provider,
		"service", call.Service, "operation", call.Operation, "code", call.Code, "duration", call.Duration)
	return resp, err
}
