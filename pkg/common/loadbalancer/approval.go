package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// approvalsUsed returns how many approvals of a Service were used before.
func (c *Controller) approvalsUsed(t target) int {
	h, _ := c.historyOf(t)
	return h.Approvals
}

// approvals returns where held changes are approved.
func (c *Controller) approvals() provider.Approvals {
	if r := c.runtime.Load(); r != nil && r.Approvals != nil {
		return r.Approvals
	}
	return kube.NewApprovals(nil, kube.ApprovalsOfServices, true)
}

// approval returns the approval of a Service; empty for none. Changes stay held while it cannot be read. An approval
// whose changes are applied has ended, even if it could not be removed yet.
func (c *Controller) approval(ctx context.Context, service *v1.Service) string {
	id, err := c.approvals().Approved(ctx, service)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read the approval of held changes", "service", klog.KObj(service))
		return ""
	}
	if id == c.states.of(service.UID).approved {
		return ""
	}
	return id
}

// endApproval removes an approval once its changes are applied, so that it never applies the same changes at another
// time, for another reason. Without an ID it retries an earlier removal.
func (c *Controller) endApproval(ctx context.Context, service *v1.Service, id string) {
	if id != "" {
		c.states.setApproved(service.UID, id)
	}
	applied := c.states.of(service.UID).approved
	if applied == "" {
		return
	}
	if err := c.approvals().End(ctx, service, applied); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove the approval of applied changes, retrying at the next sync",
			"service", klog.KObj(service))
		return
	}
	c.states.setApproved(service.UID, "")
}
