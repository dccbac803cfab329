package loadbalancer

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Reasons of the Events on Services. Alerts and scripts match them, so they can never change.
const (
	// EventUnsupportedAnnotation (Warning): a setting has no effect on this cloud.
	EventUnsupportedAnnotation = "UnsupportedAnnotation"
	// EventUnknownAnnotation (Warning): nobody reads the annotation; most likely a slip.
	EventUnknownAnnotation = "UnknownAnnotation"
	// EventIgnoredSetting (Warning): a setting has no effect because of another one.
	EventIgnoredSetting = "IgnoredSetting"
	// EventLoadBalancerWarning (Warning): something about the cloud's objects that the owner
	// should know and that stops nothing. Plans may name another reason: see plan.Plan.Reasons.
	EventLoadBalancerWarning = "LoadBalancerWarning"
	// EventLoadBalancerDrift (Warning): an audit found cloud objects changed by somebody else.
	EventLoadBalancerDrift = "LoadBalancerDrift"
	// EventLoadBalancerChanged (Normal): cloud objects were changed; the message says which.
	EventLoadBalancerChanged = "LoadBalancerChanged"
)

// eventReasons maps the reasons of package intent to Event reasons.
var eventReasons = map[intent.Reason]string{
	intent.Unsupported: EventUnsupportedAnnotation,
	intent.UnknownKey:  EventUnknownAnnotation,
	intent.Ignored:     EventIgnoredSetting,
}

// maxEvent is how much of a message is kept. The API server refuses Events of more than 1024 bytes.
const maxEvent = 1000

// notice is an Event that is worth recording only once for a Service.
type notice struct{ reason, message string }

// tellWarnings records each warning once, and again only after it had gone.
func (c *Controller[S, D, O]) tellWarnings(service *v1.Service, warnings []intent.Warning) {
	notices := make([]notice, len(warnings))
	for i, w := range warnings {
		notices[i] = notice{reason: eventReasons[w.Reason], message: w.Message}
	}
	c.tellOnce(service, "intent", notices)
}

func (c *Controller[S, D, O]) tellPlanWarnings(service *v1.Service, p plan.Plan) {
	notices := make([]notice, len(p.Warnings))
	for i, w := range p.Warnings {
		notices[i] = notice{reason: cmp.Or(p.Reasons[w], EventLoadBalancerWarning), message: w}
	}
	c.tellOnce(service, "plan", notices)
}

func (c *Controller[S, D, O]) tellOnce(service *v1.Service, source string, notices []notice) {
	for _, n := range c.told.fresh(service.Namespace+"/"+service.Name, source, notices) {
		c.event(service, v1.EventTypeWarning, n.reason, n.message)
	}
}

func (c *Controller[S, D, O]) tellChanged(service *v1.Service, made plan.Plan) {
	c.event(service, v1.EventTypeNormal, EventLoadBalancerChanged, plan.Summary(made))
}

func (c *Controller[S, D, O]) event(service *v1.Service, kind, reason, message string) {
	r := c.runtime.Load()
	if r == nil || r.Recorder == nil {
		return
	}
	if len(message) > maxEvent {
		message = strings.ToValidUTF8(message[:maxEvent], "") + "…"
	}
	r.Recorder.Event(service, kind, reason, message)
}

// told remembers which notices a Service's owner has been given. It is only about noise: a new
// manager tells everything once more.
type told struct {
	mu       sync.Mutex
	services map[string]map[string][]notice
}

func newTold() *told { return &told{services: map[string]map[string][]notice{}} }

// fresh returns the notices that the last call for this Service and source did not have.
func (t *told) fresh(service, source string, notices []notice) []notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	var fresh []notice
	for _, n := range notices {
		if !slices.Contains(t.services[service][source], n) {
			fresh = append(fresh, n)
		}
	}
	if t.services[service] == nil {
		if len(notices) == 0 {
			return nil
		}
		t.services[service] = map[string][]notice{}
	}
	t.services[service][source] = notices
	return fresh
}

func (t *told) forget(service string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.services, service)
}
