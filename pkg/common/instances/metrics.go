package instances

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

type instruments struct {
	set   *metrics.Set
	cache *basemetrics.CounterVec
}

// shared returns the instruments of the process, defined when they are first asked for.
var shared = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, cache: s.Counter(metrics.Doc{
		Name:   "ccm_cache_requests_total",
		Labels: []string{"provider", "cache", "result"},
		Help: "Questions put to a snapshot of the cloud: result=hit were answered from it, " +
			"result=miss needed a read of the cloud (shared with whoever asked at the same time).",
	})}
})

// Metrics documents the metrics of snapshots.
func Metrics() []metrics.Doc { return shared().set.Docs() }

func (i *Instances) observeCache(result string) {
	shared().cache.WithLabelValues(i.options.Provider, "instances", result).Inc()
}
