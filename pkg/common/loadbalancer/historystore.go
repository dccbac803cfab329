package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// knownHistory returns the newest history of a Service: that of this process, or the stored one.
func (c *Controller) knownHistory(service *v1.Service) (history, bool) {
	stored, isStored := storedHistory(service)
	if h := c.states.of(service.UID).history; h != nil && (!isStored || h.Sequence >= stored.Sequence) {
		return *h, true
	}
	return stored, isStored
}

// rememberFirst makes the inputs of a Service without a history its first ones, before they are validated: a correction
// is then an edit. It does so with each Service that was last seen before another manager has led.
func (c *Controller) rememberFirst(ctx context.Context, service *v1.Service) {
	before, known := c.knownHistory(service)
	since := before.LeadingSince
	if r := c.runtime.Load(); r != nil && r.LeadingSince != "" {
		since = r.LeadingSince
	}
	if known && before.LeadingSince == since {
		return
	}
	h := newHistory(service, c.options.Vocabulary, c.options.Clock.Now())
	h.Created = len(service.Status.LoadBalancer.Ingress) == 0
	if known {
		h = before.withInputs(h.Inputs, c.options.Vocabulary, before.Seen.Time).withHeld("", nil)
		h.Unproven, h.Created = true, false
	}
	h.LeadingSince = since
	if err := c.storeChanged(ctx, service, before, h); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to store the inputs of a Service in its status, retrying at its next sync",
			"service", klog.KObj(service))
	}
}

// storeChanged stores a history that differs from the one before.
func (c *Controller) storeChanged(ctx context.Context, service *v1.Service, before, h history) error {
	if !before.unstored && before.encode() == h.encode() {
		c.states.setHistory(service.UID, h)
		return nil
	}
	h.Sequence++
	return c.store(ctx, service, h)
}

// store keeps a history in this process, and writes it to the status of the Service.
func (c *Controller) store(ctx context.Context, service *v1.Service, h history) error {
	var err error
	if r := c.runtime.Load(); r != nil && r.SetCondition != nil {
		message := h.encode()
		if message == "" {
			err = errHistoryTooLong
		} else {
			err = r.SetCondition(ctx, service, metav1.Condition{
				Type: ConditionHistory, Status: metav1.ConditionTrue, Reason: historyReason, Message: message,
				LastTransitionTime: h.Seen,
			})
		}
	}
	h.unstored = err != nil
	c.states.setHistory(service.UID, h)
	return err
}

// restoreHistory makes the next plan store the history again if the Service lacks it, because another client has
// overwritten its conditions. The Service is a current one.
func (c *Controller) restoreHistory(service *v1.Service) {
	stored, isStored := storedHistory(service)
	if known := c.states.of(service.UID).history; known != nil && (!isStored || stored.Sequence < known.Sequence) {
		h := *known
		h.unstored = true
		c.states.setHistory(service.UID, h)
	}
}

// leaveStatus ends what the status of a Service reports about a load balancer if the Service stays without one.
func (c *Controller) leaveStatus(ctx context.Context, service *v1.Service) {
	r := c.runtime.Load()
	if service.DeletionTimestamp != nil || r == nil || r.SetCondition == nil {
		return
	}
	c.setProblem(ctx, service, ConditionHeld, "", "")
	c.setProblem(ctx, service, ConditionRefused, "", "")
	if meta.FindStatusCondition(service.Status.Conditions, ConditionHistory) == nil {
		return
	}
	if err := r.SetCondition(ctx, service, metav1.Condition{Type: ConditionHistory}); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove the history of a load balancer from the status of its Service",
			"service", klog.KObj(service))
	}
}
