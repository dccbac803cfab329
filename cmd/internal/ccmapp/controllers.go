package ccmapp

import (
	"context"
	"slices"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

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
