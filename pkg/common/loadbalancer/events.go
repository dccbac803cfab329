package loadbalancer

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Metrics documents the metrics of load balancer changes.
func Metrics() []metrics.Doc { return instruments.Process().Set.Docs() }

// eventReasons maps the reasons of package intent to Event reasons.
var eventReasons = map[intent.Reason]events.Reason{
	intent.Unsupported: events.UnsupportedAnnotation,
	intent.UnknownKey:  events.UnknownAnnotation,
	intent.Ignored:     events.IgnoredSetting,
}

// Sources of messages that are sent once until they change.
const (
	sourceIntent = "intent"
	sourcePlan   = "plan"
)

// recordWarnings records the warnings about a Service's spec and annotations that are new.
func (c *Controller) recordWarnings(service *v1.Service, warnings []intent.Warning) {
	messages := make([]events.Message, len(warnings))
	for i, w := range warnings {
		messages[i] = events.Message{Reason: eventReasons[w.Reason], Text: w.Message}
	}
	c.recordNew(service, sourceIntent, messages)
}

// recordPlanWarnings records the warnings of a plan that are new.
func (c *Controller) recordPlanWarnings(service *v1.Service, p plan.Plan) {
	messages := make([]events.Message, len(p.Warnings))
	for i, w := range p.Warnings {
		messages[i] = events.Message{Reason: cmp.Or(p.Reasons[w], events.LoadBalancerWarning), Text: w}
	}
	c.recordNew(service, sourcePlan, messages)
}

func (c *Controller) recordNew(service *v1.Service, source string, messages []events.Message) {
	for _, m := range c.sent.FilterNew(service.Namespace+"/"+service.Name, source, messages) {
		c.event(service, m.Reason, m.Text)
	}
}

func (c *Controller) event(service *v1.Service, reason events.Reason, message string) {
	r := c.runtime.Load()
	if r == nil || r.Recorder == nil {
		return
	}
	events.Send(r.Recorder, service, reason, message)
}
