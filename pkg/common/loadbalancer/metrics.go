package loadbalancer

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

type instruments struct {
	set     *metrics.Set
	changes *basemetrics.CounterVec
}

// process returns the instruments of the process, defined when they are first asked for.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, changes: s.Counter(metrics.Doc{
		Name:   "ccm_plan_changes_total",
		Labels: []string{"provider", "kind", "action", "result"},
		Help: "Changes of cloud objects that were tried, by the kind of object (listener, pool, …) and action (create, update, delete). " +
			"result is success, or the class of the error.",
	})}
})

// Metrics documents the metrics of load balancer changes.
func Metrics() []metrics.Doc { return process().set.Docs() }

// count counts a change when its fate is known.
func count(provider string, change plan.Change, status plan.Status, err error) {
	result := "success"
	switch {
	case err != nil:
		result = string(cloudapi.ClassOf(err))
	case status != plan.Done:
		return
	}
	process().changes.WithLabelValues(provider, change.Kind, string(change.Action), result).Inc()
}
