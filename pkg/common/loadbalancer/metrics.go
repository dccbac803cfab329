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
	held    *basemetrics.GaugeVec

	mu       sync.Mutex
	services map[string]map[string]int // changes held, by provider and Service
}

// process returns the instruments of the process, created on first use.
var process = sync.OnceValue(func() *instruments {
	s := &metrics.Set{}
	return &instruments{set: s, services: map[string]map[string]int{}, held: s.Gauge(metrics.Doc{
		Name:   "ccm_load_balancer_changes_held",
		Labels: []string{"provider"},
		Help: "Changes of load balancers that are held, because they disrupt traffic, an address or the load balancer " +
			"without a cause in the Service. Events and ccm plan list them.",
	}), changes: s.Counter(metrics.Doc{
		Name:   "ccm_plan_changes_total",
		Labels: []string{"provider", "kind", "action", "result"},
		Help: "Changes of cloud objects that were attempted, by the kind of object (listener, pool, …) and action " +
			"(create, update, delete). result is success, or the class of the error.",
	})}
})

// Metrics documents the metrics of load balancer changes.
func Metrics() []metrics.Doc { return process().set.Docs() }

// setHeld records the number of held changes of a Service.
func setHeld(provider, service string, n int) {
	p := process()
	p.mu.Lock()
	defer p.mu.Unlock()
	services := p.services[provider]
	if services[service] == n {
		return
	}
	if services == nil {
		services = map[string]int{}
		p.services[provider] = services
	}
	services[service] = n
	if n == 0 {
		delete(services, service)
	}
	sum := 0
	for _, held := range services {
		sum += held
	}
	p.held.WithLabelValues(provider).Set(float64(sum))
}

// countChange counts a change once its outcome is known.
func countChange(provider string, change plan.Change, status plan.Status, err error) {
	result := "success"
	switch {
	case err != nil:
		result = string(cloudapi.ClassOf(err))
	case status != plan.Done:
		return
	}
	process().changes.WithLabelValues(provider, change.Kind, string(change.Action), result).Inc()
}
