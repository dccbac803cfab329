package drift

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

// Results of an audit. The set is closed, because it is a metric label.
const (
	resultClean    = "clean"
	resultRepaired = "repaired"
	resultFailed   = "failed"
)

type instruments struct {
	set          *metrics.Set
	audits       *basemetrics.CounterVec
	objects      *basemetrics.GaugeVec
	listFailures *basemetrics.GaugeVec
}

// process returns the instruments of the process, created on first use.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{
		set: s,
		audits: s.Counter(metrics.Doc{
			Name:   "ccm_load_balancer_audits_total",
			Labels: []string{"provider", "result"},
			Help: "Load balancers that were compared with the cloud in the periodic audit. result is clean, repaired (drift " +
				"was corrected) or failed. " +
				"A rising number of repaired means that another client manages the same objects.",
		}),
		objects: s.Gauge(metrics.Doc{
			Name:   "ccm_inventory_objects",
			Labels: []string{"provider", "kind", "state"},
			Help: "Objects in the cloud that carry the mark of a cluster, by kind and state as in ccm audit, once per " +
				"--load-balancer-audit-period. " +
				"owned belong to a Service or node and are not compared with it here; orphaned are this cluster's and unused. " +
				"A kind that cannot be listed has no series here, but one of ccm_inventory_list_failures.",
		}),
		listFailures: s.Gauge(metrics.Doc{
			Name:   "ccm_inventory_list_failures",
			Labels: []string{"provider", "kind", "class"},
			Help: "1 for each kind of objects that the last inventory could not list, by class of the error (denied, " +
				"throttled, …). Objects of the kind are not counted, and nothing that needs it is called an orphan.",
		}),
	}
})

// Metrics documents the metrics of the audit.
func Metrics() []metrics.Doc { return process().set.Docs() }
