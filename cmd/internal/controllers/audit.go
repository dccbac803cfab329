package controllers

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/drift"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// startAudit makes the audit one of the framework's controllers: it runs on the leader only, and
// --controllers can leave it out.
func startAudit(options func() Options) startFunc {
	return func(ctx context.Context, s controllerStart) (bool, error) { return runAudit(ctx, s, options()) }
}

func runAudit(ctx context.Context, s controllerStart, o Options) (bool, error) {
	if o.Guard.DryRun { // Drift is part of the plans that a dry run reports.
		return false, nil
	}
	cloud, nodes := s.set.cloud, s.informers().Nodes()
	synced := []cache.InformerSynced{s.informers().Services().Informer().HasSynced, nodes.Informer().HasSynced}
	clusterName := s.config.ComponentConfig.KubeCloudShared.ClusterName
	client := s.sets.clients.ClientOrDie(s.ClientName)
	auditor, audits := drift.New(drift.Options{
		Provider:    cloud.ProviderName(),
		ClusterName: clusterName,
		Period:      o.AuditPeriod,
		Services:    s.sets.services.OwnedBy(s.set.name()).Lister(),
		Nodes:       nodes.Lister(),
		Synced:      synced,
		Client:      client,
	}, cloud)
	if audits {
		go auditor.Run(ctx)
	}
	inventory, lists := drift.NewInventory(drift.InventoryOptions{
		Period: o.AuditPeriod,
		Synced: synced,
		Session: orphans.Session{
			Cloud: cloud, Client: client, ClusterName: clusterName, MinAge: loadbalancer.DefaultTimeout, Now: time.Now,
			Services:   func(context.Context) ([]*v1.Service, error) { return s.sets.services.Seen(s.set.name()) },
			Nodes:      func(context.Context) ([]*v1.Node, error) { return nodes.Lister().List(labels.Everything()) },
			PlanRoutes: s.routePlanner(o),
		},
	})
	if lists {
		go inventory.Run(ctx)
	}
	return audits || lists, nil
}

// routePlanner returns the function that plans the pod routes; nil if the manager sets up none.
func (s controllerStart) routePlanner(o Options) func(context.Context, []*v1.Node) (plan.Plan, error) {
	shared := s.config.ComponentConfig.KubeCloudShared
	impl, ok := s.set.cloud.Routes()
	planner, canPlan := impl.(routes.Planner)
	ranges, err := ParseCIDRs(podcidr.FlagCluster, shared.ClusterCIDR)
	if !ok || !canPlan || !o.Routes.Has(s.set.name(), len(s.sets.sets) > 1) || err != nil || len(ranges) == 0 {
		return nil
	}
	return func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error) {
		return planner.PlanRoutes(ctx, shared.ClusterName, nodes, ranges)
	}
}
