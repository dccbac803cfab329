package loadbalancer

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Conditions of a Service. Events expire; these stay until what they report is over, and are false then. A Service that
// never had a problem has none of them.
const (
	// ConditionHeld is true while changes are held. Its message has the ID that approves them.
	ConditionHeld = "unified-ccm.io/LoadBalancerChangesHeld"
	// ConditionRefused is true while the Service is invalid or its load balancer belongs to someone else. Its message is
	// the error.
	ConditionRefused = "unified-ccm.io/LoadBalancerRefused"

	reasonSolved  = "Solved"
	reasonInvalid = "Invalid"
)

// maxCondition is the length limit of the message of a condition. The API server allows more; kubectl shows one line.
const maxCondition = 4 << 10

// setHeldCondition reports the held changes of a plan. Updates of members do not: the Service that they get has the
// conditions that it had before its last sync.
func (c *Controller) setHeldCondition(ctx context.Context, service *v1.Service, p plan.Plan) {
	var texts []string
	for _, warning := range p.Warnings {
		if p.Reasons[warning] == events.LoadBalancerChangesHeld {
			texts = append(texts, warning)
		}
	}
	c.setProblem(ctx, service, ConditionHeld, events.LoadBalancerChangesHeld.String(), strings.Join(texts, "; "))
}

// setRefusedCondition reports the error of a sync, if it lasts until someone changes the Service or the cloud.
func (c *Controller) setRefusedCondition(ctx context.Context, service *v1.Service, err error) {
	if err != nil && !cloudapi.Is(err, cloudapi.Invalid) {
		return // It is unknown whether the problem is solved.
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	c.setProblem(ctx, service, ConditionRefused, reasonInvalid, message)
}

// setProblem sets a condition to true with a message, or to false without one. It writes nothing if the Service has it,
// or never had the problem, and this process has not just written another one, which the Service may still lack.
func (c *Controller) setProblem(ctx context.Context, service *v1.Service, conditionType, reason,
	message string) {
	r := c.runtime.Load()
	if r == nil || r.SetCondition == nil {
		return
	}
	if len(message) > maxCondition {
		message = strings.ToValidUTF8(message[:maxCondition-3], "") + "..."
	}
	condition := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(c.options.Clock.Now())}
	if message == "" {
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonSolved
	}
	current := meta.FindStatusCondition(service.Status.Conditions, conditionType)
	if current != nil && current.Status == condition.Status {
		condition.LastTransitionTime = current.LastTransitionTime
	}
	last, written := c.states.of(service.UID).problems[conditionType]
	isCurrent := current == nil && message == "" ||
		current != nil && current.Status == condition.Status && current.Message == condition.Message
	if isCurrent && (!written || last == message) {
		return
	}
	if err := r.SetCondition(ctx, service, condition); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to set a condition of a Service", "service", klog.KObj(service),
			"condition", conditionType)
		return
	}
	c.states.setProblem(service.UID, conditionType, message)
}
