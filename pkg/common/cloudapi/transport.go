package cloudapi

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// logLevel is the verbosity at which each request becomes a log line.
const logLevel = 4

// Request is what a cloud's own API reference calls one request.
type Request struct {
	// Service and Operation are names from the cloud's API reference, without IDs. They become metric labels.
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
	// Describe names a request. Clouds that name the operation in the body (the AWS query
	// protocol) read it with GetBody, which the transport provides for bodies up to 1 MiB where
	// the client did not; Body itself must be left alone.
	Describe func(*http.Request) Request
	// Limits are the rate limits that the manager keeps by itself. The zero value has none.
	Limits Limits
	// Clock is what limits and metrics go by, and what the deadlines of contexts are compared
	// with. Nil is the real one.
	Clock clock.Clock
	// Classify sorts answers, and errors of Base, into classes; "" is success. Exactly one of its
	// arguments is nil.
	// It may look at the body with PeekResponse. Nil goes by the HTTP status: ClassifyStatus.
	Classify func(*http.Response, error) Class
	// RequestIDHeader is the header of an answer by which the cloud's support finds a request; it is logged.
	RequestIDHeader string
	// Observe, where set, is told of every request when it has ended. It must be quick, and safe
	// for concurrent use. Tests count requests with it.
	Observe func(Call)
}

// Call is one request as the client saw it.
type Call struct {
	Request
	// Sent is false if the rate limit or the context kept the request from being sent.
	Sent bool
	// Code is the HTTP status, or the class where no answer came.
	Code string
	// Class is "" for success.
	Class Class
	// Waited is the time spent for the rate limit, Duration the time from sending to the head of the answer.
	Waited, Duration time.Duration
}

// NewTransport returns the round tripper that all clients of a cloud's API use: it keeps the rate
// limits, measures and logs every request. It makes no retries; those belong to the SDK, or to Retry.
//
// Errors of Base are returned as they are. Of its own the transport returns an *Error of class
// Throttled when its rate limit would let the request go only after the context's deadline, and
// the context's error when that ends while the request waits; in both cases nothing was sent.
//
// The first transport of a process exposes the metrics of Metrics.
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
	return &transport{o: o, metrics: m, limiter: newLimiter(o.Limits, o.Clock)}
}

type transport struct {
	o          TransportOptions
	metrics    *instruments
	limiter    *limiter
	vocabulary vocabulary
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	p := newPeekable(req)
	call := Call{Request: t.o.Describe(p.lent)}
	// Describe may have read the body: from here on only this request has all of it.
	req = p.req
	labels := t.vocabulary.labels(call.Request)
	bucket := t.limiter.of(labels)

	resp, err := t.send(req, &call, labels, bucket)
	if call.Sent {
		call.Class = t.o.Classify(resp, err)
	} else {
		call.Class = ClassOf(err)
	}
	call.Code = string(call.Class)
	if err == nil {
		call.Code = strconv.Itoa(resp.StatusCode)
	}
	if call.Sent {
		t.metrics.duration.WithLabelValues(t.o.Provider, labels.Service, labels.Operation, call.Code).
			Observe(call.Duration.Seconds())
		t.throttled(resp, call, labels, bucket)
	}
	if t.o.Observe != nil {
		t.o.Observe(call)
	}
	t.log(req, resp, err, call)
	return resp, err
}

// send waits for the rate limit and sends the request. It fills in what the call took.
func (t *transport) send(req *http.Request, call *Call, labels Request, b *bucket) (*http.Response, error) {
	waited, err := t.limiter.acquire(req.Context(), b, call.Operation)
	call.Waited = waited
	if waited > 0 || Is(err, Throttled) {
		t.metrics.throttled.WithLabelValues(t.o.Provider, labels.Service, labels.Operation, sourceClient).Inc()
	}
	if waited > 0 || b.limited() {
		t.metrics.wait.WithLabelValues(t.o.Provider, labels.Service, labels.kind()).Observe(waited.Seconds())
	}
	if err != nil {
		// A round tripper closes the body also of a request that it does not send.
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	inFlight := t.metrics.inFlight.WithLabelValues(t.o.Provider, labels.Service)
	inFlight.Inc()
	defer inFlight.Dec()
	call.Sent = true
	start := t.o.Clock.Now()
	resp, err := t.o.Base.RoundTrip(req)
	call.Duration = t.o.Clock.Since(start)
	return resp, err
}

// throttled counts an answer by which the cloud refused the request as one too many, and holds
// the bucket back if the cloud said for how long.
func (t *transport) throttled(resp *http.Response, call Call, labels Request, b *bucket) {
	if call.Class != Throttled {
		return
	}
	t.metrics.throttled.WithLabelValues(t.o.Provider, labels.Service, labels.Operation, sourceCloud).Inc()
	if !t.o.Limits.ObeyRetryAfter || resp == nil {
		return
	}
	now := t.o.Clock.Now()
	if wait := RetryAfter(resp.Header, now); wait > 0 {
		b.hold(now, wait)
	}
}

// log writes one line. Headers, query and body can carry secrets and are left out.
func (t *transport) log(req *http.Request, resp *http.Response, err error, call Call) {
	logger := klog.FromContext(req.Context()).V(logLevel)
	if !logger.Enabled() {
		return
	}
	fields := []any{
		"provider", t.o.Provider, "service", call.Service, "operation", call.Operation, "code", call.Code,
		"sent", call.Sent, "duration", call.Duration, "waited", call.Waited,
	}
	if resp != nil && t.o.RequestIDHeader != "" {
		fields = append(fields, "requestID", resp.Header.Get(t.o.RequestIDHeader))
	}
	if err != nil {
		fields = append(fields, "err", err)
	}
	logger.Info("Cloud API request", fields...)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach Base.
func (t *transport) CloseIdleConnections() { CloseIdle(t.o.Base) }
