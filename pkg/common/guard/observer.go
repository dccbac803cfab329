package guard

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// observer admits and measures the calls of one provider.
type observer struct {
	provider  string
	clock     clock.PassiveClock
	admission *admission
	panics    *panicRecord
}

func newObserver(provider string, c clock.PassiveClock) *observer {
	process().set.Register()
	// The series of all reasons begin with zero: otherwise alerts do not see the increase by the first nodes.
	for _, reason := range []suppression{confirming, grace, wrongCloud, limit, dryRun} {
		process().suppressed.WithLabelValues(provider, string(reason))
	}
	process().panics.WithLabelValues(provider)
	return &observer{
		provider: provider, clock: c, admission: newAdmission(), panics: &panicRecord{provider: provider, clock: c},
	}
}

// observed makes the call, measures it as a span and by the metrics, and returns its result unchanged. Attributes name
// the object of the span.
func observed[T any](ctx context.Context, o *observer, iface, method string, call func(context.Context) (T, error),
	attributes ...attribute.KeyValue) (T, error) {
	ctx, err := o.admission.enter(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer o.admission.leave()
	start := o.clock.Now()
	ctx, span := tracing.Start(ctx, iface+"."+method, append(attributes, tracing.Provider.String(o.provider))...)
	value, err := recovered(ctx, o.panics, iface+"."+method, call)
	tracing.End(span, err)
	o.record(iface, method, o.clock.Since(start), err)
	return value, err
}

func serviceAttributes(s *v1.Service) []attribute.KeyValue {
	if s == nil {
		return nil
	}
	return []attribute.KeyValue{tracing.Namespace.String(s.Namespace), tracing.Service.String(s.Name)}
}

func (o *observer) record(iface, method string, duration time.Duration, err error) {
	result := resultOf(err)
	process().duration.WithLabelValues(o.provider, iface, method, result).Observe(duration.Seconds())
	if result == "error" {
		process().errors.WithLabelValues(o.provider, iface, method, string(cloudapi.ClassOf(err))).Inc()
	}
}

func (o *observer) suppressed(reason suppression) {
	process().suppressed.WithLabelValues(o.provider, string(reason)).Inc()
}

// resultOf returns the label for an outcome.
func resultOf(err error) string {
	var retry *api.RetryError
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return "not-found"
	case errors.Is(err, cloudprovider.NotImplemented):
		return "not-implemented"
	case errors.Is(err, cloudprovider.ImplementedElsewhere):
		return "elsewhere"
	case errors.As(err, &retry):
		return "retry"
	default:
		return "error"
	}
}
