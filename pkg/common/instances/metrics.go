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

// shared returns the instruments of the process, defined on first use.
var shared = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, cache: s.Counter(metrics.Doc{
		Name:   "ccm_cache_requests_total",
		Labels: []string{"provider", "cache", "result"},
		Help: "Lookups in a snapshot of the cloud. result=hit was served by the snapshot; " +
			"result=miss needed a read of the cloud, which concurrent lookups share.",
	})}
})

// Metrics documents the metrics of snapshots.
func Metrics() []metrics.Doc { return shared().set.Docs() }
