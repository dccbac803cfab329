// Package tracing has the OpenTelemetry spans of this project: a call of the framework for a Service or a node; the
// desired state, the plan (observe and diff) and the apply of a load balancer; each change of a plan; and each request
// to the cloud. They cost nothing, and allocate nothing, until a program sets a tracer provider.
package tracing

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of the tracer.
const scope = "github.com/unified-ccm/unified-ccm"

// Keys of attributes. Those of OpenTelemetry's semantic conventions have its names.
const (
	Provider  = attribute.Key("ccm.provider")
	Namespace = attribute.Key("k8s.namespace.name")
	Service   = attribute.Key("k8s.service.name")
	Node      = attribute.Key("k8s.node.name")
	Action    = attribute.Key("ccm.change.action")
	Kind      = attribute.Key("ccm.change.kind")
	Name      = attribute.Key("ccm.change.name")
	Changes   = attribute.Key("ccm.plan.changes")
	Held      = attribute.Key("ccm.plan.held")
	// Authoritative reports whether an observation had to be a read of the cloud.
	Authoritative = attribute.Key("ccm.observe.authoritative")
	System        = attribute.Key("rpc.service")
	Operation     = attribute.Key("rpc.method")
	Mutating      = attribute.Key("ccm.request.mutating")
	Class         = attribute.Key("error.type")
	Code          = attribute.Key("ccm.request.code")
	Waited        = attribute.Key("ccm.request.wait_seconds")
)

// defaultProvider is the tracer provider of a process that sets none, and noopSpan the span of such a process.
var (
	defaultProvider            = otel.GetTracerProvider()
	noopSpan        trace.Span = noop.Span{}
)

// Start starts a span inside of this process. End ends it.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return start(ctx, name, trace.SpanKindInternal, attributes)
}

// StartRequest starts the span of a request to another process.
func StartRequest(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return start(ctx, name, trace.SpanKindClient, attributes)
}

// start clones the attributes, so that those of callers stay on the stack while there is no tracer provider.
func start(ctx context.Context, name string, kind trace.SpanKind, attributes []attribute.KeyValue) (context.Context,
	trace.Span) {
	provider := otel.GetTracerProvider()
	if provider == defaultProvider {
		return ctx, noopSpan
	}
	return provider.Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind),
		trace.WithAttributes(slices.Clone(attributes)...))
}

// SetAttributes adds attributes to a span that are known only after its start.
func SetAttributes(span trace.Span, attributes ...attribute.KeyValue) {
	if span.IsRecording() {
		span.SetAttributes(slices.Clone(attributes)...)
	}
}

// End ends a span, as failed if there is an error.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
