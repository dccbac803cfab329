// Package traces exports the spans of package tracing to an OpenTelemetry collector.
//
// It reads the file of kube-apiserver's --tracing-config-file and sends OTLP over HTTP, not over gRPC as
// k8s.io/component-base/tracing does: that exporter makes ccm a megabyte larger, this one 0.4 MB.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/apiserver/pkg/server/options"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"
)

const (
	// defaultEndpoint is the address at which collectors receive OTLP over HTTP.
	defaultEndpoint = "localhost:4318"
	// flushTimeout bounds how long the end of the process waits for the collector.
	flushTimeout = 3 * time.Second
	perMillion   = 1e6
)

// Read reads and checks the file of --tracing-config-file.
func Read(file string) (*tracingapi.TracingConfiguration, error) {
	config, err := options.ReadTracingConfiguration(file)
	if err != nil {
		return nil, err
	}
	if errs := tracingapi.ValidateTracingConfiguration(config, nil, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if endpoint := endpointOf(config); strings.Contains(endpoint, "/") {
		return nil, fmt.Errorf("endpoint %q: write host:port of a collector that receives OTLP over HTTP, such as %s",
			endpoint, defaultEndpoint)
	}
	return config, nil
}

func endpointOf(config *tracingapi.TracingConfiguration) string {
	if config.Endpoint == nil {
		return defaultEndpoint
	}
	return cmp.Or(*config.Endpoint, defaultEndpoint)
}

// Start exports spans from now on. The returned function exports the remaining spans. An unreachable collector is
// logged, and spans are dropped; it never delays the manager.
func Start(ctx context.Context, config *tracingapi.TracingConfiguration, version string) (stop func(), err error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(endpointOf(config)), otlptracehttp.WithInsecure())
	if err != nil {
		return nil, err
	}
	rate := 0.0
	if config.SamplingRatePerMillion != nil {
		rate = float64(*config.SamplingRatePerMillion) / perMillion
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(rate))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "ccm"),
			attribute.String("service.version", version))),
	)
	logger := klog.FromContext(ctx)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.V(2).Info("Spans were not exported", "err", err)
	}))
	otel.SetTracerProvider(provider)
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			logger.V(2).Info("Spans were not exported", "err", err)
		}
	}, nil
}
