package orphans

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// routed is a cloud with one route, 10.244.9.0/24.
type routed struct {
	cloudprovider.Interface
	deleted bool
}

func (c *routed) Inventory() (inventory.Lister, bool) { return c, true }

func (c *routed) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

func (c *routed) ListInventory(_ context.Context, r inventory.Request) inventory.Inventory {
	return inventory.Inventory{Cluster: r.ClusterName, Kinds: []inventory.Kind{{Name: inventory.KindRoute}},
		Objects: []inventory.Object{{Kind: inventory.KindRoute, ID: "r-9", Name: "10.244.9.0/24",
			Mark: inventory.Mark{UID: r.ClusterUID}}}}
}

// planRoutes plans the deletion of the route, as for nodes without its pod CIDR.
func (c *routed) planRoutes(context.Context, []*v1.Node) (plan.Plan, error) {
	return plan.Plan{Changes: []plan.Change{{
		Ref: plan.Ref{Kind: inventory.KindRoute, Name: "10.244.9.0/24", Action: plan.Delete}, ID: "r-9",
		Do: func(context.Context, *plan.Handles) error { c.deleted = true; return nil },
	}}}, nil
}

// A node joins between the reads of the nodes and of the routes: its route was made in between.
func TestRouteOfNewNodeIsNotDeleted(t *testing.T) {
	for name, joinsAfter := range map[string]int{"a node joins": 3, "no node joins": 100} {
		t.Run(name, func(t *testing.T) {
			cloud, reads := &routed{}, 0
			audit, err := Run(t.Context(), Session{
				Cloud: cloud, ClusterName: "prod", ClusterUID: "uid", Now: time.Now, PlanRoutes: cloud.planRoutes,
				Services: func(context.Context) ([]*v1.Service, error) { return nil, nil },
				Nodes: func(context.Context) ([]*v1.Node, error) {
					if reads++; reads <= joinsAfter {
						return nil, nil
					}
					return []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "new"},
						Spec: v1.NodeSpec{PodCIDRs: []string{"10.244.9.0/24"}}}}, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			removals := audit.Removals(t.Context())
			if len(removals) != 1 {
				t.Fatalf("%d removals, want one", len(removals))
			}
			outcome := removals[0].Apply(t.Context())[0]
			joined := joinsAfter < 100
			if cloud.deleted == joined || joined != strings.Contains(outcome.Detail, "node new has this pod CIDR now") {
				t.Errorf("deleted: %v, outcome %s: %s", cloud.deleted, outcome.Outcome, outcome.Detail)
			}
		})
	}
}
