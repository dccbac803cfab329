package vsphere_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// deleteOrphans calls deleteOldOrphans when all orphans are old enough.
func deleteOrphans(t *testing.T, w *sim.Cloud, c nsxtCluster, uid string, services ...*v1.Service) (
	map[string]inventory.State, []orphans.Deletion,
) {
	t.Helper()
	time.Sleep(time.Hour)
	return deleteOldOrphans(t, w, c, uid, services...)
}

// deleteOldOrphans audits the cloud as a new process in a cluster with these Services, and deletes the orphans. It
// returns the states of the objects by kind, and the outcomes.
func deleteOldOrphans(t *testing.T, w *sim.Cloud, c nsxtCluster, uid string, services ...*v1.Service) (
	map[string]inventory.State, []orphans.Deletion,
) {
	t.Helper()
	return deleteOrphansWith(t, w, c, uid, nsxtLines(false), services...)
}

// deleteOrphansWith is deleteOldOrphans with a configuration.
func deleteOrphansWith(t *testing.T, w *sim.Cloud, c nsxtCluster, uid, lines string, services ...*v1.Service) (
	map[string]inventory.State, []orphans.Deletion,
) {
	t.Helper()
	lines, _, _ = strings.Cut(lines, "[Route]")
	cloud, err := newCloud(lines, w)
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetRuntime(provider.Runtime{ClusterUID: uid, Recorder: record.NewFakeRecorder(1000)})
	audit, err := orphans.Run(t.Context(), orphans.Session{
		Cloud: cloud, Client: fake.NewClientset(), ClusterName: "kubernetes", ClusterUID: uid,
		Services: func(context.Context) ([]*v1.Service, error) { return services, nil },
		Nodes:    func(context.Context) ([]*v1.Node, error) { return c.nodes, nil },
		Now:      time.Now, MinAge: loadbalancer.DefaultTimeout, Parts: true,
	})
	if err != nil || len(audit.Failures) > 0 {
		t.Fatalf("%v, %q", err, audit.Failures)
	}
	states := map[string]inventory.State{}
	for _, e := range audit.Report.Entries {
		states[e.Kind] = e.State
	}
	deletions := audit.Refused()
	for _, removal := range audit.Removals(t.Context()) {
		deletions = append(deletions, removal.Apply(t.Context())...)
	}
	return states, deletions
}

// expectNothingLeft fails the test if NSX-T has objects of load balancers.
func expectNothingLeft(t *testing.T, w *sim.Cloud) {
	t.Helper()
	for kind, n := range w.Objects() {
		if n > 0 && kind != "VirtualMachine" {
			t.Errorf("%d objects of type %s are left", n, kind)
		}
	}
}

// The load balancer service has the mark of the cluster that created it, and serves other clusters too.
func TestEmptyLoadBalancerServiceIsOrphanOfItsClusterOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		first, second := joinCluster(t, w, "first"), joinCluster(t, w, "second")
		a, b := webService("uid-a", 80), webService("uid-b", 80)
		for _, step := range []error{first.ensure(t, a), second.ensure(t, b), first.remove(t, a)} {
			if step != nil {
				t.Fatal(step)
			}
		}
		expect := func(step string, c nsxtCluster, uid string, want inventory.State, left int, services ...*v1.Service) {
			t.Helper()
			states, deletions := deleteOrphans(t, w, c, uid, services...)
			if states["load balancer service"] != want || w.Objects()["LBService"] != left {
				t.Errorf("%s: states %v, %v left, deletions %+v; want %s, %d left", step, states, w.Objects(), deletions, want,
					left)
			}
			conflict := func(d orphans.Deletion) bool {
				return d.Outcome == orphans.Failed && strings.Contains(d.Detail, "default/web")
			}
			if want == inventory.Orphaned && left > 0 && !slices.ContainsFunc(deletions, conflict) {
				t.Errorf("%s: deletions %+v, want one that fails because of Service default/web", step, deletions)
			}
		}
		expect("another cluster uses it", first, "first", inventory.Owned, 1)
		if err := second.remove(t, b); err != nil {
			t.Fatal(err)
		}
		expect("another cluster created it", second, "second", inventory.Foreign, 1)
		expect("a Service is about to use it", first, "first", inventory.Orphaned, 1, a)
		expect("it is empty", first, "first", inventory.Orphaned, 0)
	})
}

// Virtual servers of several deleted Services use the load balancer service: it is deleted after the last one.
func TestLoadBalancerServiceIsDeletedAfterOrphansOfSeveralServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		web, other := webService("uid-a", 80), webService("uid-b", 80)
		other.Name = "other"
		for _, svc := range []*v1.Service{web, other} {
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			deleteOrphans(t, w, c, "first")
		}
		expectNothingLeft(t, w)
	})
}

// A manager may still be creating the objects of a Service that an audit does not know yet.
func TestYoungOrphansAreNotDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		svc := webService("uid-a", 80)
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		before := w.Objects()
		states, deletions := deleteOldOrphans(t, w, c, "first")
		refused := func(d orphans.Deletion) bool {
			return d.Outcome == orphans.Refused && strings.Contains(d.Detail, "younger than")
		}
		if len(states) != 6 || len(deletions) != 6 || !slices.ContainsFunc(deletions, refused) {
			t.Errorf("states %v, deletions %+v", states, deletions)
		}
		if diff := cmp.Diff(before, w.Objects()); diff != "" {
			t.Errorf("young objects were deleted (-before +after):\n%s", diff)
		}
		deleteOrphans(t, w, c, "first")
		expectNothingLeft(t, w)
	})
}

// An interruption leaves an address in a pool that the configuration does not name any more.
func TestAddressOfFormerPoolIsOrphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		svc := webService("uid", 80)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		killed := interceptNSXT(t, w, c, func(r *http.Request) *http.Response {
			if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/ip-allocations/") {
				return refusal(r)
			}
			return nil
		})
		killed.cloud.SetRuntime(provider.Runtime{ClusterUID: "first", Recorder: record.NewFakeRecorder(1000)})
		if err := killed.remove(t, svc); err == nil {
			t.Fatal("no error")
		}
		time.Sleep(time.Hour)
		states, deletions := deleteOrphansWith(t, w, c, "first", nsxtLines(true))
		if states["IP allocation"] != inventory.Orphaned {
			t.Errorf("states %v, deletions %+v", states, deletions)
		}
		expectNothingLeft(t, w)
	})
}

func TestInventoryHasCreationDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		setNodes(t, c.cloud, c.nodes)
		created := time.Now().Truncate(time.Second)
		if err := c.ensure(t, webService("uid-a", 80)); err != nil {
			t.Fatal(err)
		}
		routes, _ := c.cloud.Routes()
		route := &cloudprovider.Route{TargetNode: types.NodeName(c.nodes[0].Name), DestinationCIDR: "10.244.0.0/24"}
		if err := routes.CreateRoute(t.Context(), "kubernetes", "hint", route); err != nil {
			t.Fatal(err)
		}
		lister, _ := c.cloud.Inventory()
		kinds := map[string]bool{}
		time.Sleep(time.Hour)
		for _, o := range lister.ListInventory(t.Context(), inventory.Request{ClusterName: "kubernetes"}).Objects {
			kinds[o.Kind] = true
			if age := o.Created.Sub(created); age < 0 || age > time.Minute {
				t.Errorf("%s %s: created at %v, want %v", o.Kind, o.Name, o.Created, created)
			}
		}
		if !kinds["route"] || !kinds["pool"] {
			t.Errorf("kinds %v", kinds)
		}
	})
}

func TestInventoryHasTheNamesOfPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		svc := webService("uid-a", 80)
		svc.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		lister, _ := c.cloud.Inventory()
		listed := map[string]plan.Ref{}
		for _, o := range lister.ListInventory(t.Context(), inventory.Request{ClusterName: "kubernetes"}).Objects {
			listed[o.ID] = plan.Ref{Kind: o.Kind, Name: o.Name, Action: plan.Delete}
		}
		balancers, _ := c.cloud.LoadBalancer()
		planned := map[string]plan.Ref{}
		removal, err := balancers.(loadbalancer.Planner).PlanLoadBalancer(t.Context(), "kubernetes", svc, nil,
			loadbalancer.PlanOptions{Remove: true})
		for _, change := range removal.Changes {
			planned[change.ID] = change.Ref
		}
		if diff := cmp.Diff(planned, listed); err != nil || len(planned) != 6 || diff != "" {
			t.Errorf("%d deletions, %v (-planned +listed):\n%s", len(planned), err, diff)
		}
	})
}
