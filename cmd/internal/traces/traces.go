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

// secureScheme begins an endpoint that speaks TLS. Without it, spans are sent in clear text, as kube-apiserver does.
const secureScheme = "https://"

// Read reads and checks the file of --tracing-config-file.
func Read(file string) (*tracingapi.TracingConfiguration, error) {
	config, err := options.ReadTracingConfiguration(file)
	if err != nil {
		return nil, err
	}
	address, _ := endpointOf(config)
	checked := *config
	checked.Endpoint = &address // kube-apiserver has no TLS, and its check no scheme for it.
	if errs := tracingapi.ValidateTracingConfiguration(&checked, nil, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if strings.Contains(address, "/") {
		return nil, fmt.Errorf("endpoint %q: write host:port of a collector that receives OTLP over HTTP, such as %s, or "+
			"%shost:port for TLS", *config.Endpoint, defaultEndpoint, secureScheme)
	}
	return config, nil
}

// endpointOf returns the address of the collector, and whether it speaks TLS.
func endpointOf(config *tracingapi.TracingConfiguration) (address string, secure bool) {
	if config.Endpoint == nil {
		return defaultEndpoint, false
	}
	address, secure = strings.CutPrefix(*config.Endpoint, secureScheme)
	return cmp.Or(address, defaultEndpoint), secure
}

// Start exports spans from now on. The returned function exports the remaining spans. An unreachable collector is
// logged, and spans are dropped; it never delays the manager. With TLS, the collector's certificate is verified with
// the authorities of the system, or with those in the file that the variable OTEL_EXPORTER_OTLP_CERTIFICATE names.
func Start(ctx context.Context, config *tracingapi.TracingConfiguration, version string) (stop func(), err error) {
	address, secure := endpointOf(config)
	options := []otlptracehttp.Option{otlptracehttp.WithEndpoint(address)}
	if !secure {
		options = append(options, otlptracehttp.WithInsecure())
	}
	exporter, err := otlptracehttp.New(ctx, options...)
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
