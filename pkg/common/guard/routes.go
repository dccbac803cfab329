package guard

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
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

// ListRoutes implements cloudprovider.Routes.
func (r *router) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	return observed(ctx, r.observe, "Routes", "ListRoutes", func(ctx context.Context) ([]*cloudprovider.Route, error) {
		return r.inner.ListRoutes(ctx, cluster)
	})
}

// A node and its pod range appear together, and the route controller is as fast as the node controller. A
// failed route is retried after 10 seconds, with a warning on the node for each attempt; a short wait for the
// provider ID avoids both. Clouds usually answer for a joining node within a second or two.
const (
	initialisationWait = 5 * time.Second
	initialisationPoll = 100 * time.Millisecond
)

// ownershipOnceKnown is ownershipOf for a node that may be about to be initialised.
func (r *router) ownershipOnceKnown(ctx context.Context, name string) (owner provider.Ownership, err error) {
	deadline := r.clock.Now().Add(initialisationWait)
	for {
		owner, err = r.ownershipOf(name)
		if err != nil || owner != provider.Unknown || !r.isJoining(name) || !r.clock.Now().Before(deadline) {
			return owner, err
		}
		if err := clocks.Sleep(ctx, r.clock, initialisationPoll); err != nil {
			return owner, err
		}
	}
}

// isJoining reports whether the node still waits for a cloud provider.
func (r *router) isJoining(name string) bool {
	node, _, err := r.nodes.get(name)
	return err == nil && node != nil && nodes.Uninitialized(node)
}

// CreateRoute implements cloudprovider.Routes. It creates no route to a node that is not ours. For a foreign
// node it succeeds: on an error the framework would mark the node's network as unavailable, again after each
// time that the node's own manager marks it as available. For an unknown node it returns an error, because
// the route is due once the node is initialised.
func (r *router) CreateRoute(ctx context.Context, cluster, nameHint string, route *cloudprovider.Route) error {
	node := string(route.TargetNode)
	owner, err := r.ownershipOnceKnown(ctx, node)
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx).WithValues("node", node, "destination", route.DestinationCIDR, "provider", r.provider)
	switch {
	case owner == provider.Foreign:
		logger.V(4).Info("Skipping the route to a node of another cloud")
		return nil
	case owner == provider.Unknown:
		return fmt.Errorf("no route to node %s for %s yet: the node has no provider ID of %s", node, route.DestinationCIDR,
			r.provider)
	case r.dryRun:
		logger.Info("Dry run: skipping the creation of a route")
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

// PlanRoutes implements routes.Planner. The provider plans with all nodes, because a route to a node of
// another cloud stays; the plan creates none to such a node.
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
		return c.Action == plan.Create && slices.ContainsFunc(c.Fields, func(f plan.Field) bool {
			return f.Name == routes.FieldNode && notOwned[f.After]
		})
	})
	return p, nil
}
