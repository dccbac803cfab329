package ccmapp

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/unified-ccm/unified-ccm/pkg/common/drift"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// auditController is the audit's name in --controllers. It can never change.
const auditController = "load-balancer-audit-controller"

// startAudit makes the audit one of the framework's controllers: it runs on the leader only, and
// --controllers can leave it out.
func (o *options) startAudit(initContext app.ControllerInitContext, config *appconfig.CompletedConfig,
	cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, _ controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
		if o.guard.DryRun { // Drift is part of the plans that a dry run reports.
			return nil, false, nil
		}
		services, nodes := config.SharedInformers.Core().V1().Services(), config.SharedInformers.Core().V1().Nodes()
		synced := []cache.InformerSynced{services.Informer().HasSynced, nodes.Informer().HasSynced}
		clusterName := config.ComponentConfig.KubeCloudShared.ClusterName
		client := config.ClientBuilder.ClientOrDie(initContext.ClientName)
		auditor, audits := drift.New(drift.Options{
			Provider:    cloud.ProviderName(),
			ClusterName: clusterName,
			Period:      o.auditPeriod,
			Services:    services.Lister(),
			Nodes:       nodes.Lister(),
			Synced:      synced,
			Client:      client,
		}, cloud)
		if audits {
			go auditor.Run(ctx)
		}
		inventory, lists := drift.NewInventory(drift.InventoryOptions{
			Period: o.auditPeriod,
			Synced: synced,
			Session: orphans.Session{
				Cloud: cloud, Client: client, ClusterName: clusterName, MinAge: loadbalancer.DefaultTimeout, Now: time.Now,
				Services:   func(context.Context) ([]*v1.Service, error) { return services.Lister().List(labels.Everything()) },
				Nodes:      func(context.Context) ([]*v1.Node, error) { return nodes.Lister().List(labels.Everything()) },
				PlanRoutes: o.routePlanner(cloud),
			},
		})
		if lists {
			go inventory.Run(ctx)
		}
		return nil, audits || lists, nil
	}
}

// routePlanner returns the function that plans the pod routes; nil if the manager sets up none.
func (o *options) routePlanner(cloud cloudprovider.Interface) func(context.Context, []*v1.Node) (plan.Plan, error) {
	shared := o.framework.KubeCloudShared
	impl, ok := cloud.Routes()
	planner, canPlan := impl.(routes.Planner)
	ranges, err := parseCIDRs(shared.ClusterCIDR)
	if !ok || !canPlan || !shared.ConfigureCloudRoutes || err != nil {
		return nil
	}
	return func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error) {
		return planner.PlanRoutes(ctx, shared.ClusterName, nodes, ranges)
	}
}
