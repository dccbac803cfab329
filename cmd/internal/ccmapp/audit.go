package ccmapp

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

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
func (o *options) startAudit(ctx context.Context, s controllerStart) (bool, error) {
	if o.guard.DryRun { // Drift is part of the plans that a dry run reports.
		return false, nil
	}
	cloud, nodes := s.set.cloud, s.informers().Nodes()
	synced := []cache.InformerSynced{s.informers().Services().Informer().HasSynced, nodes.Informer().HasSynced}
	clusterName := s.config.ComponentConfig.KubeCloudShared.ClusterName
	client := s.config.ClientBuilder.ClientOrDie(s.ClientName)
	auditor, audits := drift.New(drift.Options{
		Provider:    cloud.ProviderName(),
		ClusterName: clusterName,
		Period:      o.auditPeriod,
		Services:    s.sets.services.OwnedBy(s.set.name()).Lister(),
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
			Services:   func(context.Context) ([]*v1.Service, error) { return s.sets.services.Seen(s.set.name()) },
			Nodes:      func(context.Context) ([]*v1.Node, error) { return nodes.Lister().List(labels.Everything()) },
			PlanRoutes: o.routePlanner(cloud, len(s.sets.sets) > 1),
		},
	})
	if lists {
		go inventory.Run(ctx)
	}
	return audits || lists, nil
}

// routePlanner returns the function that plans the pod routes; nil if the manager sets up none.
func (o *options) routePlanner(cloud cloudprovider.Interface, several bool) func(context.Context, []*v1.Node) (plan.Plan, error) {
	shared := o.framework.KubeCloudShared
	impl, ok := cloud.Routes()
	planner, canPlan := impl.(routes.Planner)
	ranges, err := parseCIDRs(shared.ClusterCIDR)
	if !ok || !canPlan || !o.routes.has(cloud.ProviderName(), several) || err != nil {
		return nil
	}
	return func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error) {
		return planner.PlanRoutes(ctx, shared.ClusterName, nodes, ranges)
	}
}
