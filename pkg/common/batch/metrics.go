package batch

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

type instruments struct {
	set  *metrics.Set
	size *basemetrics.HistogramVec
}

// shared returns the instruments of the process, created on first use.
var shared = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, size: s.Histogram(metrics.Doc{
		Name:   "ccm_batch_size",
		Labels: []string{"provider", "operation"},
		Help:   "How many requests each bulk call to a cloud combined.",
		// The bounds include the 16 workers and the 200 concurrent route calls of the framework, and full pages.
	}, []float64{1, 2, 4, 8, 16, 32, 64, 128, 200, 500, 1000})}
})

// Metrics documents the metrics of bulk calls.
func Metrics() []metrics.Doc { return shared().set.Docs() }
