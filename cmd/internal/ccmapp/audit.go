package ccmapp

import (
	"context"

	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/unified-ccm/unified-ccm/pkg/common/audit"
)

// auditController is the audit's name in --controllers. It can never change.
const auditController = "load-balancer-audit-controller"

// startAudit makes the audit one of the framework's controllers: it runs on the leader only, and
// --controllers can leave it out.
func (o *options) startAudit(start app.ControllerInitContext, config *appconfig.CompletedConfig,
	cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, _ controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
		if o.guard.DryRun { // Drift is part of the plans that a dry run reports.
			return nil, false, nil
		}
		services, nodes := config.SharedInformers.Core().V1().Services(), config.SharedInformers.Core().V1().Nodes()
		a, ok := audit.New(audit.Options{
			Provider:    cloud.ProviderName(),
			ClusterName: config.ComponentConfig.KubeCloudShared.ClusterName,
			Period:      o.auditPeriod,
			Services:    services.Lister(),
			Nodes:       nodes.Lister(),
			Synced:      []cache.InformerSynced{services.Informer().HasSynced, nodes.Informer().HasSynced},
			Client:      config.ClientBuilder.ClientOrDie(start.ClientName),
		}, cloud)
		if !ok {
			return nil, false, nil
		}
		go a.Run(ctx)
		return nil, true, nil
	}
}
