package guard

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// balancer adds metrics to a provider's load balancers. Package loadbalancer decides which nodes receive traffic.
type balancer struct {
	*shared
	inner loadbalancer.Interface
}

// dryBalancer is a balancer that reports its plans instead of applying them.
type dryBalancer struct{ *balancer }

var (
	_ loadbalancer.Interface = (*balancer)(nil)
	_ loadbalancer.Interface = (*dryBalancer)(nil)
)

// newBalancer panics if the provider's load balancers cannot plan: that is a programming error, because every
// provider built on package loadbalancer can.
func newBalancer(s *shared, inner cloudprovider.LoadBalancer, dryRun bool) loadbalancer.Interface {
	planning, ok := inner.(loadbalancer.Interface)
	if !ok {
		panic(fmt.Errorf("provider %s: its load balancers (%T) do not implement loadbalancer.Interface", s.provider, inner))
	}
	b := &balancer{shared: s, inner: planning}
	if dryRun {
		return &dryBalancer{b}
	}
	return b
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) GetLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service,
) (status *v1.LoadBalancerStatus, exists bool, err error) {
	err = b.call(ctx, "GetLoadBalancer", service, func(ctx context.Context) (err error) {
		status, exists, err = b.inner.GetLoadBalancer(ctx, cluster, service)
		return err
	})
	return status, exists, err
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *balancer) GetLoadBalancerName(ctx context.Context, cluster string, service *v1.Service) string {
	return b.inner.GetLoadBalancerName(ctx, cluster, service)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) EnsureLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node,
) (status *v1.LoadBalancerStatus, err error) {
	err = b.call(ctx, "EnsureLoadBalancer", service, func(ctx context.Context) (err error) {
		status, err = b.inner.EnsureLoadBalancer(ctx, cluster, service, nodes)
		return err
	})
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service,
	nodes []*v1.Node) error {
	return b.call(ctx, "UpdateLoadBalancer", service, func(ctx context.Context) error {
		return b.inner.UpdateLoadBalancer(ctx, cluster, service, nodes)
	})
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	return b.call(ctx, "EnsureLoadBalancerDeleted", service, func(ctx context.Context) error {
		return b.inner.EnsureLoadBalancerDeleted(ctx, cluster, service)
	})
}

// PlanLoadBalancer implements loadbalancer.Planner.
func (b *balancer) PlanLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, o loadbalancer.PlanOptions,
) (p plan.Plan, err error) {
	err = b.call(ctx, "PlanLoadBalancer", service, func(ctx context.Context) (err error) {
		p, err = b.inner.PlanLoadBalancer(ctx, cluster, service, nodes, o)
		return err
	})
	return p, err
}

// AuditLoadBalancer implements loadbalancer.Auditor.
func (b *balancer) AuditLoadBalancer(
	ctx context.Context, cluster string, current loadbalancer.CurrentFunc,
) (drift plan.Plan, status *v1.LoadBalancerStatus, err error) {
	err = b.call(ctx, "AuditLoadBalancer", nil, func(ctx context.Context) (err error) {
		drift, status, err = b.inner.AuditLoadBalancer(ctx, cluster, func() (*v1.Service, []*v1.Node) {
			service, nodes := current()
			trace.SpanFromContext(ctx).SetAttributes(serviceAttributes(service)...)
			return service, nodes
		})
		return err
	})
	return drift, status, err
}

// AuditsTogether implements loadbalancer.Auditor.
func (b *balancer) AuditsTogether() bool { return b.inner.AuditsTogether() }

// RemoveOrphans implements loadbalancer.OrphanRemover.
func (b *balancer) RemoveOrphans(
	ctx context.Context, cluster string, service *v1.Service, approve loadbalancer.ApproveFunc,
) (result plan.Result, err error) {
	err = b.call(ctx, "RemoveOrphans", service, func(ctx context.Context) (err error) {
		result, err = b.inner.RemoveOrphans(ctx, cluster, service, approve)
		return err
	})
	return result, err
}

func (b *balancer) call(ctx context.Context, method string, service *v1.Service, do func(context.Context) error) error {
	_, err := observed(ctx, b.observe, "LoadBalancer", method, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, do(ctx)
	}, serviceAttributes(service)...)
	return err
}

// EnsureLoadBalancer reports the plan. The Service keeps its status.
func (d *dryBalancer) EnsureLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	p, err := d.PlanLoadBalancer(ctx, cluster, service, nodes, loadbalancer.PlanOptions{})
	if err != nil {
		return nil, err
	}
	d.report(ctx, service, p)
	return service.Status.LoadBalancer.DeepCopy(), nil
}

// UpdateLoadBalancer reports the changes of membership.
func (d *dryBalancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service,
	nodes []*v1.Node) error {
	p, err := d.PlanLoadBalancer(ctx, cluster, service, nodes, loadbalancer.PlanOptions{})
	if err != nil {
		return err
	}
	d.report(ctx, service, p.Membership())
	return nil
}

// EnsureLoadBalancerDeleted reports the deletions. It fails while there are any: on success the framework
// would remove the finalizer and orphan the load balancer.
func (d *dryBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	p, err := d.PlanLoadBalancer(ctx, cluster, service, nil, loadbalancer.PlanOptions{Remove: true})
	if err != nil || p.Empty() {
		return err
	}
	d.report(ctx, service, p)
	return fmt.Errorf("dry run: load balancer %s of Service %s/%s stays, and so does its finalizer; run without "+
		"--dry-run to delete it",
		d.GetLoadBalancerName(ctx, cluster, service), service.Namespace, service.Name)
}

// AuditLoadBalancer changes and reports nothing: drift is part of the plans that a dry run reports.
func (d *dryBalancer) AuditLoadBalancer(
	context.Context, string, loadbalancer.CurrentFunc,
) (plan.Plan, *v1.LoadBalancerStatus, error) {
	return plan.Plan{}, nil, nil
}

// RemoveOrphans refuses: a dry run plans the removal instead.
func (d *dryBalancer) RemoveOrphans(
	context.Context, string, *v1.Service, loadbalancer.ApproveFunc,
) (plan.Result, error) {
	return plan.Result{}, errors.New("dry run: orphans are not deleted; run without --dry-run to delete them")
}

// report logs the plan and sends it as an Event, unless it has not changed since the last report.
func (d *dryBalancer) report(ctx context.Context, service *v1.Service, p plan.Plan) {
	text := plan.Summary(p)
	for _, warning := range p.Warnings {
		text += "; " + warning
	}
	if d.events.sendServiceOnce(service, events.DryRunPlan, text) {
		klog.FromContext(ctx).Info("Dry run: not applying the plan", "service", klog.KObj(service), "plan", text)
	}
}
