package audit

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

type instruments struct {
	set    *metrics.Set
	audits *basemetrics.CounterVec
}

// process returns the instruments of the process, created on first use.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, audits: s.Counter(metrics.Doc{
		Name:   "ccm_load_balancer_audits_total",
		Labels: []string{"provider", "result"},
		Help: "Load balancers that were compared with the cloud in the periodic audit. result is clean, repaired (drift " +
			"was corrected) or failed. " +
			"A rising number of repaired means that another client manages the same objects.",
	})}
})

// Metrics documents the metrics of the audit.
func Metrics() []metrics.Doc { return process().set.Docs() }
