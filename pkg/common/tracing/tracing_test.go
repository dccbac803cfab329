package tracing_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// Spans cost nothing while a process exports none.
func TestSpansWithoutProviderAllocateNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { trace(t.Context(), "web") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSpansWithoutProvider measures the spans of a plan in a process that exports none.
func BenchmarkSpansWithoutProvider(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		trace(b.Context(), "web")
	}
}

// trace makes two spans with attributes.
func trace(ctx context.Context, name string) {
	ctx, outer := tracing.Start(ctx, "plan", tracing.Service.String(name), tracing.Authoritative.Bool(true))
	_, inner := tracing.StartRequest(ctx, "request", tracing.Operation.String(name))
	tracing.SetAttributes(inner, tracing.Changes.Int(len(name)))
	tracing.End(inner, context.Canceled)
	tracing.End(outer, nil)
}

func TestSpansOfProviderSetLater(t *testing.T) {
	// Without a tracer provider a span is not recorded.
	_, span := tracing.Start(t.Context(), "before")
	if span.IsRecording() {
		t.Error("a span is recorded without a tracer provider")
	}
	tracing.End(span, nil)

	unset := otel.GetTracerProvider()
	t.Cleanup(func() { otel.SetTracerProvider(unset) })
	spans := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	ctx, sync := tracing.Start(t.Context(), "sync", tracing.Service.String("web"))
	func(ctx context.Context) {
		_, request := tracing.StartRequest(ctx, "request")
		tracing.End(request, errors.New("denied"))
	}(ctx)
	tracing.End(sync, nil)

	var got []string
	for _, s := range spans.Ended() {
		got = append(got, s.Name()+" "+s.SpanKind().String()+" "+s.Status().Code.String())
	}
	want := []string{"request client " + codes.Error.String(), "sync internal " + codes.Unset.String()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if spans.Ended()[0].Parent().SpanID() != spans.Ended()[1].SpanContext().SpanID() {
		t.Error("the request is not below the sync")
	}
}
