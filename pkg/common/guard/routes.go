package guard

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// router adds ownership, metrics and dry run to a provider's Routes.
type router struct {
	*shared
	inner  cloudprovider.Routes
	dryRun bool
}

// planningRouter is a router over a provider that can plan.
type planningRouter struct {
	*router
	planner routes.Planner
}

var (
	_ cloudprovider.Routes = (*router)(nil)
	_ cloudprovider.Routes = (*planningRouter)(nil)
	_ routes.Planner       = (*planningRouter)(nil)
)

func newRoutes(s *shared, inner cloudprovider.Routes, dryRun bool) cloudprovider.Routes {
	r := &router{shared: s, inner: inner, dryRun: dryRun}
	if planner, ok := inner.(routes.Planner); ok {
		return &planningRouter{router: r, planner: planner}
	}
	return r
}

// ListRoutes implements cloudprovider.Routes. It omits routes to nodes that exist and are not ours: the route
// controller does not see these nodes, and deletes each listed route without a node.
func (r *router) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	list, err := observed(ctx, r.observe, "Routes", "ListRoutes",
		func(ctx context.Context) ([]*cloudprovider.Route, error) { return r.inner.ListRoutes(ctx, cluster) })
	if err != nil {
		return nil, err
	}
	kept := make([]*cloudprovider.Route, 0, len(list))
	for _, route := range list {
		node, _, err := r.nodes.get(string(route.TargetNode))
		if err != nil {
			return nil, err
		}
		if route.Blackhole || node == nil || r.ownership(node) == provider.Mine {
			kept = append(kept, route)
		}
	}
	return kept, nil
}

// CreateRoute implements cloudprovider.Routes. It creates no route to a node that is not ours. The route controller
// does not ask for one, because ScopeRoutes hides such nodes from it.
func (r *router) CreateRoute(ctx context.Context, cluster, nameHint string, route *cloudprovider.Route) error {
	node := string(route.TargetNode)
	owner, err := r.ownershipOf(node)
	if err != nil {
		return err
	}
	if owner != provider.Mine {
		return fmt.Errorf("no route to node %s for %s: the node has no provider ID of %s, or is opted out", node,
			route.DestinationCIDR, r.provider)
	}
	if r.dryRun {
		klog.FromContext(ctx).Info("Dry run: skipping the creation of a route", "node", node,
			"destination", route.DestinationCIDR, "provider", r.provider)
		return nil
	}
	_, err = observed(ctx, r.observe, "Routes", "CreateRoute", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.inner.CreateRoute(ctx, cluster, nameHint, route)
	}, tracing.Node.String(node))
	return err
}

// DeleteRoute implements cloudprovider.Routes. The ownership of the node does not matter: only our own routes
// are ever listed.
func (r *router) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	if r.dryRun {
		klog.FromContext(ctx).Info("Dry run: skipping the deletion of a route", "route", route.Name,
			"destination", route.DestinationCIDR,
			"node", route.TargetNode, "provider", r.provider)
		return nil
	}
	_, err := observed(ctx, r.observe, "Routes", "DeleteRoute", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.inner.DeleteRoute(ctx, cluster, route)
	}, tracing.Node.String(string(route.TargetNode)))
	return err
}

// PlanRoutes implements routes.Planner. The provider plans with all nodes, because they have pod CIDRs too; the plan
// creates and deletes no route to a node that is not ours.
func (r *planningRouter) PlanRoutes(ctx context.Context, cluster string, nodes []*v1.Node,
	ranges []netip.Prefix) (plan.Plan, error) {
	p, err := observed(ctx, r.observe, "Routes", "PlanRoutes", func(ctx context.Context) (plan.Plan, error) {
		return r.planner.PlanRoutes(ctx, cluster, nodes, ranges)
	})
	if err != nil {
		return plan.Plan{}, err
	}
	notOwned := map[string]bool{}
	for _, node := range nodes {
		notOwned[node.Name] = r.ownership(node) != provider.Mine
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool {
		return slices.ContainsFunc(c.Fields, func(f plan.Field) bool {
			return f.Name == routes.FieldNode && (notOwned[f.After] || notOwned[f.Before])
		})
	})
	return p, nil
}
