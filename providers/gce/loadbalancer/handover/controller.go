package handover

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	cloudprovider "k8s.io/cloud-provider"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// Controller deletes the load balancer of a Service once an edit of its scheme hands it to ingress-gce, and is the
// controller of all others.
type Controller struct {
	*lbcommon.Controller
	// Subsets is set if ingress-gce makes new internal load balancers.
	Subsets bool
	// Scheme returns the scheme of the forwarding rule that this manager has made for a Service; "" without one.
	Scheme func(ctx context.Context, service *v1.Service) (string, error)

	holdsAll atomic.Bool
}

var _ lbcommon.Interface = (*Controller)(nil)

// SetRuntime implements provider.RuntimeUser.
func (c *Controller) SetRuntime(r provider.Runtime) {
	c.holdsAll.Store(r.Disruption == provider.HoldAllDisruption)
	c.Controller.SetRuntime(r)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (c *Controller) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	leaves, err := c.leaves(ctx, service)
	switch {
	case err != nil:
		return nil, err
	case !leaves:
		return c.Controller.EnsureLoadBalancer(ctx, clusterName, service, nodes)
	}
	if err := c.EnsureLoadBalancerDeleted(ctx, clusterName, service); err != nil {
		return nil, err
	}
	return nil, cloudprovider.ImplementedElsewhere
}

// PlanLoadBalancer implements loadbalancer.Planner.
func (c *Controller) PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node,
	o lbcommon.PlanOptions) (plan.Plan, error) {
	leaves, err := c.leaves(ctx, service)
	if err != nil {
		return plan.Plan{}, err
	}
	o.Remove = o.Remove || leaves
	p, err := c.Controller.PlanLoadBalancer(ctx, clusterName, service, nodes, o)
	if err == nil && !o.Remove && Leaves(service, c.Subsets) && !wasSeen(service) {
		p.Warnings = append(p.Warnings, "a load balancer of the former scheme stays, for whose finalizer ingress-gce waits: "+
			"to delete it, change the Service back to that scheme, wait for a sync, and make the edit again")
	}
	return p, err
}

// leaves reports whether the load balancer of a Service is one of its former scheme. A finalizer alone does not prove
// that: earlier managers left some behind, and load balancers from before the finalizers have none. Only a Service that
// this manager has seen with the former scheme was edited since: without that cause, what serves stays.
func (c *Controller) leaves(ctx context.Context, service *v1.Service) (bool, error) {
	if c.holdsAll.Load() || !Leaves(service, c.Subsets) || !wasSeen(service) {
		return false, nil
	}
	present := api.SchemeExternal
	if isInternal(service) {
		present = api.SchemeInternal
	}
	scheme, err := c.Scheme(ctx, service)
	return err == nil && scheme != present, err
}

// wasSeen reports whether this manager has made, or taken over, a load balancer of a Service.
func wasSeen(service *v1.Service) bool {
	return meta.FindStatusCondition(service.Status.Conditions, lbcommon.ConditionHistory) != nil
}
