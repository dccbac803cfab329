package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

type instruments struct {
	set        *metrics.Set
	duration   *basemetrics.HistogramVec
	errors     *basemetrics.CounterVec
	suppressed *basemetrics.CounterVec
	nodes      *basemetrics.GaugeVec
	invalidIDs *basemetrics.GaugeVec
	panics     *basemetrics.CounterVec
}

// process returns the instruments of the process, created on first use.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		duration: s.Histogram(metrics.Doc{
			Name:   "ccm_cloudprovider_request_duration_seconds",
			Labels: []string{"provider", "interface", "method", "result"},
			Help: "Time that a provider took for one call of the framework, waits included, in seconds. result is success, " +
				"error, " +
				"or one of the framework's own results: not-found, not-implemented, elsewhere, retry.",
			// From a result out of a snapshot (1 ms) to a load balancer that takes minutes to build.
		}, []float64{.001, .01, .05, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}),
		errors: s.Counter(metrics.Doc{
			Name:   "ccm_cloudprovider_errors_total",
			Labels: []string{"provider", "interface", "method", "class"},
			Help: "Calls of the framework that a provider answered with an error, by class of error. The framework's own " +
				"results (not found, not implemented) are not counted.",
		}),
		suppressed: s.Counter(metrics.Doc{
			Name:   "ccm_node_deletions_suppressed_total",
			Labels: []string{"provider", "reason"},
			Help: "Nodes that were kept although the cloud reported that their instance does not exist, each counted " +
				"when the reason begins. confirming is part of every deletion; grace is a node without a provider ID; " +
				"wrong-cloud is a cloud that does not find the instances of Ready nodes either; " +
				"limit is --max-node-deletions; dry-run is --dry-run.",
		}),
		nodes: s.Gauge(metrics.Doc{
			Name:   "ccm_nodes",
			Labels: []string{"provider", "ownership"},
			Help: "Nodes by ownership: mine, foreign (another cloud's, or opted out by label), unknown " +
				"(no provider ID, or one that " +
				"cannot be parsed).",
		}),
		invalidIDs: s.Gauge(metrics.Doc{
			Name:   "ccm_nodes_invalid_provider_id",
			Labels: []string{"provider"},
			Help: "Nodes with a provider ID that cannot be parsed. They are part of ccm_nodes with ownership unknown, and are " +
				"left alone until they are deleted. The Event InvalidProviderID names each.",
		}),
		panics: s.Counter(metrics.Doc{
			Name:   "ccm_provider_panics_total",
			Labels: []string{"provider"},
			Help: "Panics in calls of a provider, which are errors of these calls; the log has their stacks. After 3 within " +
				"10 minutes, the provider gets no calls for 10 minutes.",
		}),
	}
})

// Metrics documents the metrics of the framework's calls and of the guards.
func Metrics() []metrics.Doc { return process().set.Docs() }

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
