package controllers

import (
	"context"
	"fmt"
	"net"
	"slices"

	routecontroller "k8s.io/cloud-provider/controllers/route"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// providerController adapts a provider's controller to the framework's interface. --controllers knows the
// controllers of all linked providers; only those of the chosen providers start.
func providerController(name string) startFunc {
	return func(ctx context.Context, s controllerStart) (bool, error) {
		starter, ok := s.set.cloud.(provider.ControllerStarter)
		if !ok || !isEnabled(name, s.set.provider.Controllers, s.config.ComponentConfig.Generic.Controllers) {
			return false, nil
		}
		shared := s.config.ComponentConfig.KubeCloudShared
		options := provider.ControllerContext{
			Client:            s.config.ClientBuilder.ClientOrDie(s.ClientName),
			Nodes:             s.informers().Nodes(),
			AllocateNodeCIDRs: shared.AllocateNodeCIDRs,
			CIDRAllocatorType: shared.CIDRAllocatorType,
		}
		if shared.ClusterCIDR != "" {
			ranges, err := ParseCIDRs(shared.ClusterCIDR)
			if err != nil {
				return false, err
			}
			options.ClusterCIDRs = ranges
		}
		return starter.StartController(ctx, name, options)
	}
}

// isEnabled reports whether the name is one of the provider's controllers and, if that is opt-in, is listed in
// --controllers. The framework has checked that --controllers does not disable it.
func isEnabled(name string, declared []provider.Controller, controllers []string) bool {
	i := slices.IndexFunc(declared, func(c provider.Controller) bool { return c.Name == name })
	return i >= 0 && (!declared[i].OptIn || slices.Contains(controllers, name))
}

// startRouteController starts the framework's route controller as the framework does, except that guard.ScopeRoutes
// limits it to this cloud's nodes and to the cluster CIDRs. On a cloud without routes it starts none, which is not an
// error. The flags are valid: checkRoutes has checked them.
func startRouteController(options func() Options) startFunc {
	return func(ctx context.Context, s controllerStart) (bool, error) { return runRoutes(ctx, s, options().Routes) }
}

func runRoutes(ctx context.Context, s controllerStart, enabled *RouteClouds) (bool, error) {
	options := s.config.ComponentConfig.KubeCloudShared
	routes, ok := s.set.cloud.Routes()
	if !ok || !enabled.Has(s.set.name(), len(s.sets.sets) > 1) {
		klog.FromContext(ctx).Info("The route controller does not start, because the cloud has no routes or "+
			"--configure-cloud-routes is off for it", "provider", s.set.name())
		return false, nil
	}
	ranges, err := ParseCIDRs(options.ClusterCIDR)
	if err != nil {
		return false, err
	}
	clusterCIDRs := make([]*net.IPNet, 0, len(ranges))
	for _, p := range ranges {
		mask := net.CIDRMask(p.Bits(), p.Addr().BitLen())
		clusterCIDRs = append(clusterCIDRs, &net.IPNet{IP: p.Addr().AsSlice(), Mask: mask})
	}
	nodes := guard.ScopeRoutes(s.set.cloud, s.informers().Nodes(), ranges)
	controller, err := routecontroller.New(routes, s.config.ClientBuilder.ClientOrDie(s.ClientName), nodes,
		options.ClusterName, clusterCIDRs)
	if err != nil {
		return false, fmt.Errorf("the route controller: %w", err)
	}
	go controller.Run(ctx, options.RouteReconciliationPeriod.Duration, s.shared.ControllerManagerMetrics)
	return true, nil
}
