package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// AuditsTogether implements Auditor.
func (c *Controller) AuditsTogether() bool {
	return c.allReader != nil && c.allReader.ReadsAll()
}

// AuditLoadBalancer implements Auditor.
func (c *Controller) AuditLoadBalancer(ctx context.Context, clusterName string,
	current CurrentFunc) (drift plan.Plan, status *v1.LoadBalancerStatus, err error) {
	service, _ := current()
	if service == nil {
		return plan.Plan{}, nil, nil
	}
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return plan.Plan{}, nil, err
	}
	defer release()

	service, nodes := current()
	if service == nil || service.UID != key.UID || !c.handles(service) {
		return plan.Plan{}, nil, nil
	}
	c.states.update(key.UID, func(s *serviceState) { s.compare(service) })
	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return plan.Plan{}, nil, c.followNodesAndFail(ctx, t, service, nodes, err)
	}
	compare := c.compareAuthoritative
	if c.AuditsTogether() {
		compare = c.compare
	}
	have, p, err := compare(ctx, t)
	if err != nil {
		return plan.Plan{}, nil, c.followNodesAndFail(ctx, t, service, nodes, err)
	}
	c.recordPlanWarnings(service, p)
	c.setHeldCondition(ctx, service, p)
	c.restoreHistory(service)
	if !p.Empty() {
		if p.Approval == "" && !c.isEdited(t) {
			drift = p
		}
		p = c.withRecord(t, have, p)
		if shown := filterReported(drift); !shown.Empty() {
			c.event(service, events.LoadBalancerDrift,
				"The load balancer drifted from this Service, changed outside of this manager; correcting: "+plan.Summary(shown))
		}
	}
	if have, err = c.applyPlan(ctx, t, have, p); err != nil {
		return drift, nil, err
	}
	expected := c.cloud.Status(t.in, have)
	c.annotate(ctx, service, expected.Annotations)
	return drift, expected.LoadBalancer, nil
}

// isEdited reports whether an edit of the Service is not applied yet: then a sync of the Service has failed or is still
// to come, and the changes are not drift.
func (c *Controller) isEdited(t target) bool {
	h, _ := c.knownHistory(t.service)
	return h.applying || h.Unfinished || h.Digest != applied.Digest(intent.InputsOf(t.service, c.options.Vocabulary))
}
