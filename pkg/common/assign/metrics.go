package assign

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

type instruments struct {
	set       *metrics.Set
	duration  *basemetrics.HistogramVec
	conflicts *basemetrics.CounterVec
}

// process returns the instruments of the process, created on first use.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		duration: s.Histogram(metrics.Doc{
			Name:   "ccm_node_assignment_seconds",
			Labels: []string{"provider"},
			Help: "With several clouds: the time from the first sight of a node without a provider ID until it was known " +
				"which cloud has its machine, in seconds.",
		}, []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 600}),
		conflicts: s.Counter(metrics.Doc{
			Name:   "ccm_node_assignment_conflicts_total",
			Labels: []string{"provider"},
			Help: "With several clouds: answers by which a node is nobody's, because more than one cloud has a machine of it. " +
				"Each of these clouds counts.",
		}),
	}
})

// Metrics documents the metrics of assignments.
func Metrics() []metrics.Doc { return process().set.Docs() }
