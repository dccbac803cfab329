package guard

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
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
