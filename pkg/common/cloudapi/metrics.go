package cloudapi

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

// Values of the label source.
const (
	sourceClient = "client"
	sourceCloud  = "cloud"
)

// instruments are the metrics of this package.
type instruments struct {
	set       *metrics.Set
	duration  *basemetrics.HistogramVec
	inFlight  *basemetrics.GaugeVec
	throttled *basemetrics.CounterVec
	wait      *basemetrics.HistogramVec
}

// shared returns the instruments of the process, created on first use.
var shared = sync.OnceValue(newInstruments)

// Metrics documents the metrics of cloud API requests, which are the same for every provider.
func Metrics() []metrics.Doc { return shared().set.Docs() }

func newInstruments() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		duration: s.Histogram(metrics.Doc{
			Name:   "ccm_cloud_api_request_duration_seconds",
			Labels: []string{"provider", "service", "operation", "code"},
			Help: "Time from sending a cloud API request to the header of its response, failures included, in seconds. " +
				"code is the HTTP status, or the error class if there was no response.",
			// From a metadata response in one network (10 ms) to the longest client timeout in use (60 s).
		}, []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		inFlight: s.Gauge(metrics.Doc{
			Name:   "ccm_cloud_api_requests_in_flight",
			Labels: []string{"provider", "service"},
			Help:   "Cloud API requests in flight.",
		}),
		throttled: s.Counter(metrics.Doc{
			Name:   "ccm_cloud_api_throttled_total",
			Labels: []string{"provider", "service", "operation", "source"},
			Help: "Throttled cloud API requests: source=cloud are requests that the cloud rejected, " +
				"source=client are requests that the manager's own rate limiter delayed or rejected.",
		}),
		wait: s.Histogram(metrics.Doc{
			Name:   "ccm_cloud_api_rate_limit_wait_seconds",
			Labels: []string{"provider", "service", "kind"},
			Help: "Time that cloud API requests waited for the manager's own rate limiter, in seconds; " +
				"kind is read or mutate. " +
				"Requests without a limit are not counted.",
		}, []float64{0, .01, .05, .1, .5, 1, 5, 10, 30, 60}),
	}
}
