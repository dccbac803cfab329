package guard

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// balancer puts ownership and metrics around a provider's LoadBalancer: only nodes that are ours
// become members.
type balancer struct {
	*shared
	inner cloudprovider.LoadBalancer
}

// planningBalancer is a balancer whose provider can plan.
type planningBalancer struct {
	*balancer
	planner loadbalancer.Planner
	auditor loadbalancer.Auditor // nil if the provider cannot audit
}

// dryBalancer reports what a balancer would do, and does none of it.
type dryBalancer struct {
	*balancer
	planner loadbalancer.Planner // nil if the provider cannot plan
}

// dryPlanningBalancer is a dryBalancer whose provider can plan.
type dryPlanningBalancer struct {
	*dryBalancer
	planningBalancer planningBalancer
}

var (
	_ cloudprovider.LoadBalancer = (*balancer)(nil)
	_ cloudprovider.LoadBalancer = (*planningBalancer)(nil)
	_ loadbalancer.Planner       = (*planningBalancer)(nil)
	_ loadbalancer.Auditor       = (*planningBalancer)(nil)
	_ cloudprovider.LoadBalancer = (*dryBalancer)(nil)
	_ cloudprovider.LoadBalancer = (*dryPlanningBalancer)(nil)
	_ loadbalancer.Planner       = (*dryPlanningBalancer)(nil)
)

func newBalancer(s *shared, inner cloudprovider.LoadBalancer, dryRun bool) cloudprovider.LoadBalancer {
	b := &balancer{shared: s, inner: inner}
	planner, plans := inner.(loadbalancer.Planner)
	auditor, _ := inner.(loadbalancer.Auditor)
	planning := planningBalancer{balancer: b, planner: planner, auditor: auditor}
	switch {
	case dryRun && plans:
		return &dryPlanningBalancer{dryBalancer: &dryBalancer{balancer: b, planner: &planning}, planningBalancer: planning}
	case dryRun:
		return &dryBalancer{balancer: b}
	case plans:
		return &planning
	default:
		return b
	}
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) GetLoadBalancer(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	var exists bool
	status, err := observed(b.observe, "LoadBalancer", "GetLoadBalancer", func() (status *v1.LoadBalancerStatus, err error) {
		status, exists, err = b.inner.GetLoadBalancer(ctx, cluster, service)
		return status, err
	})
	return status, exists, err
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *balancer) GetLoadBalancerName(ctx context.Context, cluster string, service *v1.Service) string {
	return b.inner.GetLoadBalancerName(ctx, cluster, service)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return observed(b.observe, "LoadBalancer", "EnsureLoadBalancer", func() (*v1.LoadBalancerStatus, error) {
		return b.inner.EnsureLoadBalancer(ctx, cluster, service, b.ours(nodes))
	})
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	_, err := observed(b.observe, "LoadBalancer", "UpdateLoadBalancer", func() (struct{}, error) {
		return struct{}{}, b.inner.UpdateLoadBalancer(ctx, cluster, service, b.ours(nodes))
	})
	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	_, err := observed(b.observe, "LoadBalancer", "EnsureLoadBalancerDeleted", func() (struct{}, error) {
		return struct{}{}, b.inner.EnsureLoadBalancerDeleted(ctx, cluster, service)
	})
	return err
}

// PlanLoadBalancer implements loadbalancer.Planner.
func (p *planningBalancer) PlanLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, remove bool) (plan.Plan, error) {
	return observed(p.observe, "LoadBalancer", "PlanLoadBalancer", func() (plan.Plan, error) {
		return p.planner.PlanLoadBalancer(ctx, cluster, service, p.ours(nodes), remove)
	})
}

// AuditLoadBalancer implements loadbalancer.Auditor. A dry run has none: what it would put right is
// in the plans that it reports.
func (p *planningBalancer) AuditLoadBalancer(ctx context.Context, cluster string, current loadbalancer.Current) (plan.Plan, *v1.LoadBalancerStatus, error) {
	if p.auditor == nil {
		return plan.Plan{}, nil, nil
	}
	var drift plan.Plan
	status, err := observed(p.observe, "LoadBalancer", "AuditLoadBalancer", func() (status *v1.LoadBalancerStatus, err error) {
		drift, status, err = p.auditor.AuditLoadBalancer(ctx, cluster, func() (*v1.Service, []*v1.Node) {
			service, nodes := current()
			return service, p.ours(nodes)
		})
		return status, err
	})
	return drift, status, err
}

// PlanLoadBalancer implements loadbalancer.Planner.
func (p *dryPlanningBalancer) PlanLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, remove bool) (plan.Plan, error) {
	return p.planningBalancer.PlanLoadBalancer(ctx, cluster, service, nodes, remove)
}

// EnsureLoadBalancer reports what would be done. The Service keeps the status that it has.
func (d *dryBalancer) EnsureLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	p, err := d.plan(ctx, cluster, service, nodes, false)
	if err != nil {
		return nil, err
	}
	d.report(ctx, service, p)
	return service.Status.LoadBalancer.DeepCopy(), nil
}

// UpdateLoadBalancer reports the changes of membership that would be made.
func (d *dryBalancer) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	p, err := d.plan(ctx, cluster, service, nodes, false)
	if err != nil {
		return err
	}
	d.report(ctx, service, p.Membership())
	return nil
}

// EnsureLoadBalancerDeleted reports what would be deleted. It fails while there is anything to
// delete: success would remove the finalizer, and the load balancer would be nobody's.
func (d *dryBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	p, err := d.plan(ctx, cluster, service, nil, true)
	if err != nil {
		return err
	}
	if d.planner != nil && p.Empty() {
		return nil
	}
	d.report(ctx, service, p)
	return fmt.Errorf("dry run: load balancer %s of Service %s/%s stays, and so does its finalizer; run without --dry-run to delete it",
		d.GetLoadBalancerName(ctx, cluster, service), service.Namespace, service.Name)
}

// plan asks the provider what it would do. Its errors are what the framework would have met.
func (d *dryBalancer) plan(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, remove bool) (plan.Plan, error) {
	if d.planner == nil {
		return plan.Plan{
			Subject:  "Service " + service.Namespace + "/" + service.Name,
			Warnings: []string{"provider " + d.provider + " cannot say beforehand what it would change"},
		}, nil
	}
	return d.planner.PlanLoadBalancer(ctx, cluster, service, nodes, remove)
}

// report logs the plan and sends it as an Event, once until it changes.
func (d *dryBalancer) report(ctx context.Context, service *v1.Service, p plan.Plan) {
	text := plan.Summary(p)
	for _, warning := range p.Warnings {
		text += "; " + warning
	}
	if d.events.serviceOnce(service, reasonDryRunPlan, text) {
		klog.FromContext(ctx).Info("Dry run: nothing is applied", "service", klog.KObj(service), "plan", text)
	}
}
