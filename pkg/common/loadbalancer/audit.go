package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Auditor is implemented by every LoadBalancer built by this package.
type Auditor interface {
	// AuditLoadBalancer reads the load balancer of a Service from the cloud, bypassing every snapshot, and
	// corrects differences from the desired state. It returns the differences, which are empty in a healthy
	// cluster, and the expected status of the Service, nil if it is unknown.
	//
	// Current returns the Service and the nodes at the time of its call, which is once the audit holds the lock
	// of the load balancer: an audit with an older Service would undo later changes. A nil Service means that no
	// audit is needed any more.
	AuditLoadBalancer(ctx context.Context, clusterName string,
		current Current) (drift plan.Plan, status *v1.LoadBalancerStatus, err error)
}

// Current returns a Service, nil if it needs no load balancer, and the nodes that may receive traffic.
// Callers do not modify the result.
type Current func() (*v1.Service, []*v1.Node)

// AuditLoadBalancer implements Auditor.
func (c *Controller[S, D, O]) AuditLoadBalancer(ctx context.Context, clusterName string,
	current Current) (plan.Plan, *v1.LoadBalancerStatus, error) {
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
	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return plan.Plan{}, nil, c.keptMembers(ctx, t, service, nodes, err)
	}
	have, drift, err := c.confirmed(ctx, t)
	if err != nil {
		return plan.Plan{}, nil, c.keptMembers(ctx, t, service, nodes, err)
	}
	c.recordPlanWarnings(service, drift)
	if !drift.Empty() {
		drift = c.withRecord(t, have, drift)
		if shown := reported(drift); !shown.Empty() {
			c.event(service, events.LoadBalancerDrift,
				"The load balancer drifted from this Service, changed outside of this manager; correcting: "+plan.Summary(shown))
		}
		if err := c.apply(ctx, service, drift); err != nil {
			return drift, nil, err
		}
		if have, err = c.settled(ctx, t); err != nil {
			return drift, nil, err
		}
	}
	c.deferRecord(t, have, drift)
	c.rebase(t, have, drift)
	status := c.cloud.Status(t.in, have)
	c.annotate(ctx, service, status.Annotations)
	return drift, status.LoadBalancer, nil
}
