package ccmapp

import (
	"context"
	"fmt"
	"net"
	"slices"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	routecontroller "k8s.io/cloud-provider/controllers/route"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// providerController adapts a provider's controller to the framework's interface. --controllers knows the
// controllers of all linked providers; only those of the chosen provider start.
func providerController(name string) app.InitFuncConstructor {
	return func(initContext app.ControllerInitContext, config *appconfig.CompletedConfig,
		cloud cloudprovider.Interface) app.InitFunc {
		return func(ctx context.Context, _ controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
			starter, ok := cloud.(provider.ControllerStarter)
			d, _ := provider.Get(cloud.ProviderName())
			if !ok || !isEnabled(name, d.Controllers, config.ComponentConfig.Generic.Controllers) {
				return nil, false, nil
			}
			shared := config.ComponentConfig.KubeCloudShared
			options := provider.ControllerContext{
				Client:            config.ClientBuilder.ClientOrDie(initContext.ClientName),
				Nodes:             config.SharedInformers.Core().V1().Nodes(),
				AllocateNodeCIDRs: shared.AllocateNodeCIDRs,
				CIDRAllocatorType: shared.CIDRAllocatorType,
			}
			if shared.ClusterCIDR != "" {
				ranges, err := parseCIDRs(shared.ClusterCIDR)
				if err != nil {
					return nil, false, err
				}
				options.ClusterCIDRs = ranges
			}
			started, err := starter.StartController(ctx, name, options)
			return nil, started, err
		}
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
func startRouteController(initContext app.ControllerInitContext, config *appconfig.CompletedConfig,
	cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, shared controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
		options := config.ComponentConfig.KubeCloudShared
		routes, ok := cloud.Routes()
		if !ok || !options.ConfigureCloudRoutes {
			klog.FromContext(ctx).Info("The route controller does not start, because the cloud has no routes or --"+
				flagCloudRoutes+" is off", "provider", cloud.ProviderName())
			return nil, false, nil
		}
		ranges, err := parseCIDRs(options.ClusterCIDR)
		if err != nil {
			return nil, false, err
		}
		clusterCIDRs := make([]*net.IPNet, 0, len(ranges))
		for _, p := range ranges {
			mask := net.CIDRMask(p.Bits(), p.Addr().BitLen())
			clusterCIDRs = append(clusterCIDRs, &net.IPNet{IP: p.Addr().AsSlice(), Mask: mask})
		}
		nodes := guard.ScopeRoutes(cloud, config.SharedInformers.Core().V1().Nodes(), ranges)
		client := config.ClientBuilder.ClientOrDie(initContext.ClientName)
		controller, err := routecontroller.New(routes, client, nodes, options.ClusterName, clusterCIDRs)
		if err != nil {
			return nil, false, fmt.Errorf("the route controller: %w", err)
		}
		go controller.Run(ctx, options.RouteReconciliationPeriod.Duration, shared.ControllerManagerMetrics)
		return nil, true, nil
	}
}
