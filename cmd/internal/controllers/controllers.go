package controllers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	routecontroller "k8s.io/cloud-provider/controllers/route"
	"k8s.io/cloud-provider/names"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Constructors returns the framework's controllers and ours. Those of the framework keep the names of their clients,
// which are their service accounts with --use-service-account-credentials. The framework's map is shared by the whole
// process, so it is copied. The options are read when a controller starts, after the flags are parsed.
func Constructors(options func() Options) map[string]app.ControllerInitFuncConstructor {
	controllers := maps.Clone(app.DefaultInitFuncConstructors)
	add := func(name string, start app.InitFuncConstructor) {
		c := controllers[name]
		c.Constructor = start
		c.InitContext.ClientName = cmp.Or(c.InitContext.ClientName, name)
		controllers[name] = c
	}
	for name, start := range map[string]startFunc{
		names.CloudNodeController: startNodeController, names.ServiceLBController: startServiceController,
		names.NodeRouteController: startRouteController(options), AuditController: startAudit(options),
	} {
		add(name, perSet(start))
	}
	add(names.CloudNodeLifecycleController, startLifecycleControllers)
	for _, d := range provider.All() {
		for _, c := range d.Controllers {
			add(c.Name, perSet(providerController(c.Name, options)))
		}
	}
	return controllers
}

// providerController adapts a provider's controller to the framework's interface. --controllers knows the
// controllers of all linked providers; only those of the chosen providers start.
func providerController(name string, options func() Options) startFunc {
	return func(ctx context.Context, s controllerStart) (bool, error) {
		starter, ok := s.set.cloud.(provider.ControllerStarter)
		shared := s.config.ComponentConfig.KubeCloudShared
		if !ok || !IsEnabled(name, s.set.provider, s.config.ComponentConfig.Generic.Controllers) ||
			name == nodeipam.Name && shared.CIDRAllocatorType == nodeipam.RangeAllocator && !s.set.provider.AllocatesRanges {
			return false, nil
		}
		client, nodes := s.sets.clients.ClientOrDie(s.ClientName), s.informers().Nodes()
		podCIDRs := options().PodCIDRs
		return starter.StartController(ctx, name, provider.ControllerContext{
			Client: client, Nodes: nodes, Clock: s.set.clock,
			AllocateNodeCIDRs: shared.AllocateNodeCIDRs,
			CIDRAllocatorType: shared.CIDRAllocatorType,
			PodCIDRs:          podCIDRs,
			Routes:            startsRoutes(s, options().Routes) && isRouteControllerEnabled(s.config),
			PodRanges: s.sets.podRanges(func() *podcidr.Ranges {
				return podcidr.New(podcidr.Options{
					Config: podCIDRs, Client: client, Nodes: nodes.Lister(), Clock: s.set.clock,
				})
			}),
		})
	}
}

// IsEnabled reports whether a provider has the controller and, if that is opt-in, it is listed in --controllers. The
// framework has checked that --controllers does not disable it.
func IsEnabled(name string, d provider.Descriptor, controllers []string) bool {
	i := slices.IndexFunc(d.Controllers, func(c provider.Controller) bool { return c.Name == name })
	if i < 0 || !d.Controllers[i].OptIn {
		return i >= 0
	}
	return slices.ContainsFunc(controllers, func(listed string) bool {
		return listed == name || d.ControllerAliases[listed] == name
	})
}

// startRouteController starts the framework's route controller as the framework does, except that guard.ScopeRoutes
// limits it to this cloud's nodes and to the cluster CIDRs. On a cloud without routes it starts none, which is not an
// error. The flags are valid: checkRoutes has checked them.
func startRouteController(options func() Options) startFunc {
	return func(ctx context.Context, s controllerStart) (bool, error) { return runRoutes(ctx, s, options().Routes) }
}

// startsRoutes reports whether the cloud has routes, and whether --configure-cloud-routes is on for it.
func startsRoutes(s controllerStart, enabled *RouteClouds) bool {
	_, ok := s.set.cloud.Routes()
	return ok && enabled.Has(s.set.name(), len(s.sets.sets) > 1)
}

// isRouteControllerEnabled reports whether --controllers has the route controller. The framework asks before it starts
// one.
func isRouteControllerEnabled(config *appconfig.CompletedConfig) bool {
	return controllermanagerapp.IsControllerEnabled(names.NodeRouteController, app.ControllersDisabledByDefault,
		config.ComponentConfig.Generic.Controllers)
}

func runRoutes(ctx context.Context, s controllerStart, enabled *RouteClouds) (bool, error) {
	options := s.config.ComponentConfig.KubeCloudShared
	routes, _ := s.set.cloud.Routes()
	if !startsRoutes(s, enabled) {
		klog.FromContext(ctx).Info("The route controller does not start, because the cloud has no routes or "+
			"--configure-cloud-routes is off for it", "provider", s.set.name())
		return false, nil
	}
	ranges, err := ParseCIDRs(podcidr.FlagCluster, options.ClusterCIDR)
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
