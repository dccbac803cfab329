package loadbalancer

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	// approvalLength is the length of a change in the ID of held changes: 80 bits. Who writes the Service chooses wanted
	// values, and must not find two changes with one ID: one to get approved, and another one to be applied.
	approvalLength = 16
	// approvalSeparator joins the changes of an ID.
	approvalSeparator = "-"
)

// approvalEncoding has no character that differs only in its case, and no approvalSeparator.
var approvalEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// heldID identifies held differences, for an approval of exactly these: a digest of each of them, sorted. So an
// approval covers what is left of them when a manager ends before it has applied them all, and nothing else. The ID
// does not depend on what exists, nor on members: nodes that join or leave do not revoke an approval. Used approvals
// are part of it, so that each is used once.
func heldID(held []heldDifference, used int) string {
	var items []string
	for _, h := range held {
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %d", h.Kind, h.Object, h.Field, h.Wanted, used))
		items = append(items, approvalEncoding.EncodeToString(sum[:])[:approvalLength])
	}
	slices.Sort(items)
	return strings.Join(slices.Compact(items), approvalSeparator)
}

// ApprovalID returns the ID that approves one thing, which the parts identify.
func ApprovalID(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return approvalEncoding.EncodeToString(sum[:])[:approvalLength]
}

// approvalsUsed returns how many approvals of a Service were used before.
func (c *Controller) approvalsUsed(t target) int {
	h, _ := c.historyOf(t)
	return h.Approvals
}

// needsApproval reports whether a held change is part of the ID and of the warning. Marks, and changes of members that
// disrupt nothing, are held only because they depend on others.
func needsApproval(h plan.HeldChange) bool { return !h.Mark && (!h.Membership || h.Disrupts.Severe()) }

// Approves reports whether an approval names everything that an ID stands for. An approval of a part approves nothing.
func Approves(approval, heldID string) bool {
	if heldID == "" {
		return false
	}
	approved := strings.Split(approval, approvalSeparator)
	for item := range strings.SplitSeq(heldID, approvalSeparator) {
		if !slices.Contains(approved, item) {
			return false
		}
	}
	return true
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
