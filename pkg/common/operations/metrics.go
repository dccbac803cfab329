package operations

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

// Values of the label result of polls.
const (
	pollDone    = "done"
	pollRunning = "running"
	pollFailed  = "failed"
)

type instruments struct {
	set      *metrics.Set
	polls    *basemetrics.CounterVec
	duration *basemetrics.HistogramVec
	running  *basemetrics.GaugeVec
}

// shared returns the instruments of the process, created on first use.
var shared = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		polls: s.Counter(metrics.Doc{
			Name:   "ccm_operation_polls_total",
			Labels: []string{"provider", "result"},
			Help: "Polls of long-running operations of a cloud. result is done, running, or failed for a poll without " +
				"the state of the operation.",
		}),
		duration: s.Histogram(metrics.Doc{
			Name:   "ccm_operation_duration_seconds",
			Labels: []string{"provider", "operation", "result"},
			Help: "Time from the start of a long-running operation of a cloud until its end was seen, in seconds. result " +
				"is succeeded, or the class of its error.",
			// From an operation that has ended with its first response to one that outlives the sync of a Service.
		}, []float64{.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900}),
		running: s.Gauge(metrics.Doc{
			Name:   "ccm_operations_running",
			Labels: []string{"provider"},
			Help:   "Long-running operations of a cloud whose end was not seen.",
		}),
	}
})

// Metrics documents the metrics of long-running operations.
func Metrics() []metrics.Doc { return shared().set.Docs() }
