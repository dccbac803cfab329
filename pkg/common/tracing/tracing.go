// Package tracing has the OpenTelemetry spans of this project: a call of the framework for a Service or a node, each
// change of a plan, and each request to the cloud. They cost nothing until a program sets a tracer provider.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracer forwards to the tracer provider of the process, also to one that is set later.
var tracer = otel.Tracer("github.com/unified-ccm/unified-ccm")

// Keys of attributes. Those of OpenTelemetry's semantic conventions have its names.
const (
	Provider  = attribute.Key("ccm.provider")
	Namespace = attribute.Key("k8s.namespace.name")
	Service   = attribute.Key("k8s.service.name")
	Node      = attribute.Key("k8s.node.name")
	Action    = attribute.Key("ccm.change.action")
	Kind      = attribute.Key("ccm.change.kind")
	Name      = attribute.Key("ccm.change.name")
	System    = attribute.Key("rpc.service")
	Operation = attribute.Key("rpc.method")
	Mutating  = attribute.Key("ccm.request.mutating")
	Class     = attribute.Key("error.type")
	Code      = attribute.Key("ccm.request.code")
	Waited    = attribute.Key("ccm.request.wait_seconds")
)

// Start starts a span inside of this process. End ends it.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return tracer.Start(ctx, name, trace.WithAttributes(attributes...))
}

// StartRequest starts the span of a request to another process.
func StartRequest(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

// End ends a span, as failed if there is an error.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
