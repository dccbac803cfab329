package cloudapi

import (
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// logLevel is the verbosity at which each request becomes a log line.
const logLevel = 4

// TransportOptions configure a transport. Provider and Describe are required.
type TransportOptions struct {
	// Provider is the provider's registry name and metric label.
	Provider string
	// Base sends the requests. Nil is http.DefaultTransport.
	Base http.RoundTripper
	// Describe identifies a request. Clouds with the operation in the body (the AWS query protocol) read it with
	// GetBody, which the transport provides for bodies up to 1 MiB if the client did not. It must not read Body.
	Describe func(*http.Request) Request
	// Limits are the client-side rate limits. The zero value has none.
	Limits Limits
	// Clock is the clock of limits and metrics, which is also compared with the deadlines of contexts. Nil is the
	// real one.
	Clock clock.Clock
	// Classify returns the class of a response or of an error of Base; "" is success. Exactly one of its arguments
	// is nil. It may read the body with PeekResponse. Nil is ClassifyStatus.
	Classify func(*http.Response, error) Class
	// RequestIDHeader is the response header with the ID of a request for the cloud's support. It is logged.
	RequestIDHeader string
	// Observe, if set, is called after every request. It must be fast and safe for concurrent use.
	Observe func(Call)
}

// NewTransport returns the round tripper of all clients of a cloud's API. It applies the rate limits, and
// measures and logs every request. It does not retry; the SDK or Retry does.
//
// It returns errors of Base unchanged. It returns an *Error of class Throttled if the next slot of the rate
// limiter is after the context's deadline, and the context's error if the context ends while the request
// waits; in both cases the request is not sent.
//
// The first transport of a process registers the metrics of Metrics.
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
	o       TransportOptions
	metrics *instruments
	limiter *limiter
	labels  labelSet
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	p := newPeekable(req)
	call := Call{Request: t.o.Describe(p.described)}
	// Describe may have read the body: only this request still has the whole body.
	req = p.req
	labels := t.labels.labels(call.Request)
	bucket := t.limiter.bucketFor(labels)
	ctx, span := tracing.StartRequest(req.Context(), labels.Service+" "+labels.Operation,
		tracing.Provider.String(t.o.Provider), tracing.System.String(labels.Service),
		tracing.Operation.String(labels.Operation), tracing.Mutating.Bool(call.Mutating))
	if span.IsRecording() {
		req = req.WithContext(ctx)
	}

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
		t.recordThrottling(resp, call, labels, bucket)
	}
	if t.o.Observe != nil {
		t.o.Observe(call)
	}
	t.log(req, resp, err, call)
	endSpan(span, call)
	return resp, err
}

// endSpan ends the span of a call. Of an error it has only the class: texts of clouds may repeat parts of the request.
func endSpan(span trace.Span, call Call) {
	tracing.SetAttributes(span, tracing.Code.String(call.Code), tracing.Waited.Float64(call.Waited.Seconds()))
	if call.Class != "" {
		tracing.SetAttributes(span, tracing.Class.String(string(call.Class)))
		span.SetStatus(codes.Error, string(call.Class))
	}
	span.End()
}

// send waits for the rate limiter and sends the request. It sets the durations of the call.
func (t *transport) send(req *http.Request, call *Call, labels Request, b *bucket) (*http.Response, error) {
	waited, err := t.limiter.acquire(req.Context(), b, call.Operation)
	call.Waited = waited
	if waited > 0 || Is(err, Throttled) {
		t.metrics.throttled.WithLabelValues(t.o.Provider, labels.Service, labels.Operation, sourceClient).Inc()
	}
	if waited > 0 || b.isLimited() {
		t.metrics.wait.WithLabelValues(t.o.Provider, labels.Service, labels.kind()).Observe(waited.Seconds())
	}
	if err != nil {
		// A round tripper must close the body of a request that it does not send too.
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
	redactResponse(req, resp)
	return resp, err
}

// recordThrottling counts a throttled request, and pauses the bucket if the cloud sent Retry-After.
func (t *transport) recordThrottling(resp *http.Response, call Call, labels Request, b *bucket) {
	if call.Class != Throttled {
		return
	}
	t.metrics.throttled.WithLabelValues(t.o.Provider, labels.Service, labels.Operation, sourceCloud).Inc()
	if !t.o.Limits.ObeyRetryAfter || resp == nil {
		return
	}
	now := t.o.Clock.Now()
	if wait := RetryAfter(resp.Header, now); wait > 0 {
		b.pause(now, wait)
	}
}

// log logs the request. It omits headers, query and body, which may contain secrets.
func (t *transport) log(req *http.Request, resp *http.Response, err error, call Call) {
	logger := klog.FromContext(req.Context()).V(logLevel)
	if !logger.Enabled() {
		return
	}
	fields := []any{
		"provider", t.o.Provider, "apiService", call.Service, "operation", call.Operation, "code", call.Code,
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
func (t *transport) CloseIdleConnections() { CloseIdleConnections(t.o.Base) }
