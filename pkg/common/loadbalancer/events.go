package loadbalancer

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Reasons of the Events on Services. Alerts and scripts match them, so they can never change.
const (
	// EventUnsupportedAnnotation (Warning): a setting has no effect on this cloud.
	EventUnsupportedAnnotation = "UnsupportedAnnotation"
	// EventUnknownAnnotation (Warning): no such annotation exists; probably a typing error.
	EventUnknownAnnotation = "UnknownAnnotation"
	// EventIgnoredSetting (Warning): a setting has no effect because of another one.
	EventIgnoredSetting = "IgnoredSetting"
	// EventLoadBalancerWarning (Warning): a note about the cloud's objects that does not stop the sync.
	// Plans may set another reason: see plan.Plan.Reasons.
	EventLoadBalancerWarning = "LoadBalancerWarning"
	// EventLoadBalancerDrift (Warning): an audit found cloud objects that were changed outside of this manager.
	EventLoadBalancerDrift = "LoadBalancerDrift"
	// EventLoadBalancerChangesHeld (Warning): disruptive changes wait for an approval.
	EventLoadBalancerChangesHeld = "LoadBalancerChangesHeld"
	// EventLoadBalancerChanged (Normal): cloud objects were changed; the message lists them.
	EventLoadBalancerChanged = "LoadBalancerChanged"
)

// eventReasons maps the reasons of package intent to Event reasons.
var eventReasons = map[intent.Reason]string{
	intent.Unsupported: EventUnsupportedAnnotation,
	intent.UnknownKey:  EventUnknownAnnotation,
	intent.Ignored:     EventIgnoredSetting,
}

// Sources of messages that are sent once until they change.
const (
	sourceIntent = "intent"
	sourcePlan   = "plan"
)

// recordWarnings records the warnings about a Service's spec and annotations that are new.
func (c *Controller[S, D, O]) recordWarnings(service *v1.Service, warnings []intent.Warning) {
	messages := make([]events.Message, len(warnings))
	for i, w := range warnings {
		messages[i] = events.Message{Reason: eventReasons[w.Reason], Text: w.Message}
	}
	c.recordNew(service, sourceIntent, messages)
}

// recordPlanWarnings records the warnings of a plan that are new.
func (c *Controller[S, D, O]) recordPlanWarnings(service *v1.Service, p plan.Plan) {
	messages := make([]events.Message, len(p.Warnings))
	for i, w := range p.Warnings {
		messages[i] = events.Message{Reason: cmp.Or(p.Reasons[w], EventLoadBalancerWarning), Text: w}
	}
	c.recordNew(service, sourcePlan, messages)
}

func (c *Controller[S, D, O]) recordNew(service *v1.Service, source string, messages []events.Message) {
	for _, m := range c.sent.New(service.Namespace+"/"+service.Name, source, messages) {
		c.event(service, v1.EventTypeWarning, m.Reason, m.Text)
	}
}

func (c *Controller[S, D, O]) event(service *v1.Service, kind, reason, message string) {
	r := c.runtime.Load()
	if r == nil || r.Recorder == nil {
		return
	}
	r.Recorder.Event(service, kind, reason, events.Shorten(message))
}
