// Package instruments has the metrics of changes of load balancers.
package instruments

import (
	"sync"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Instruments are the metrics of this process.
type Instruments struct {
	Set *metrics.Set
	// Held counts held changes by provider.
	Held    *basemetrics.GaugeVec
	changes *basemetrics.CounterVec

	mu       sync.Mutex
	services map[string]map[string]int // changes held, by provider and Service
}

// Process returns the instruments of the process, created on first use.
var Process = sync.OnceValue(func() *Instruments {
	s := &metrics.Set{}
	return &Instruments{Set: s, services: map[string]map[string]int{}, Held: s.Gauge(metrics.Doc{
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

// Services returns the number of Services of a provider with held changes.
func (p *Instruments) Services(provider string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.services[provider])
}

// SetHeld records the number of held changes of a Service.
func (p *Instruments) SetHeld(provider, service string, n int) {
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
	p.Held.WithLabelValues(provider).Set(float64(sum))
}

// Count counts a change once its outcome is known.
func (p *Instruments) Count(provider string, change plan.Change, status plan.Status, err error) {
	result := "success"
	switch {
	case err != nil:
		result = string(cloudapi.ClassOf(err))
	case status != plan.Done:
		return
	}
	p.changes.WithLabelValues(provider, change.Kind, string(change.Action), result).Inc()
}
