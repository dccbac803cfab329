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

func TestSpansOfProviderSetLater(t *testing.T) {
	// Without a tracer provider a span is not recorded.
	_, span := tracing.Start(t.Context(), "before")
	if span.IsRecording() {
		t.Error("a span is recorded without a tracer provider")
	}
	tracing.End(span, nil)

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
