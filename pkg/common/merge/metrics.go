package merge

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

type instruments struct {
	set     *metrics.Set
	patches *basemetrics.HistogramVec
	writes  *basemetrics.CounterVec
}

// shared returns the instruments of the process, created on first use.
var shared = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		patches: s.Histogram(metrics.Doc{
			Name:   "ccm_merged_patches",
			Labels: []string{"provider", "kind"},
			Help:   "How many patches each write of an object that Services share merged.",
		}, []float64{1, 2, 5, 10, 20, 50, 100, 200, 500}),
		writes: s.Counter(metrics.Doc{
			Name:   "ccm_merged_writes_total",
			Labels: []string{"provider", "kind", "result"},
			Help:   "Writes of objects that Services share. result is succeeded, or the class of the error.",
		}),
	}
})

// Metrics documents the metrics of objects that Services share.
func Metrics() []metrics.Doc { return shared().set.Docs() }

// count records a write.
func count(provider, kind string, patches int, err error) {
	result := "succeeded"
	if err != nil {
		result = string(cloudapi.ClassOf(err))
	}
	shared().patches.WithLabelValues(provider, kind).Observe(float64(patches))
	shared().writes.WithLabelValues(provider, kind, result).Inc()
}
