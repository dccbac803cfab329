package drift

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// listedCloud has a load balancer of Service default/web, one of a deleted Service, and the address of another cluster.
type listedCloud struct {
	cloudprovider.Interface

	mu     sync.Mutex
	denied string
	lists  int
	parts  bool
}

// deny denies the list of a kind; "" denies none.
func (c *listedCloud) deny(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = kind
}

func (c *listedCloud) ProviderName() string                             { return "listed" }
func (c *listedCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (c *listedCloud) Inventory() (inventory.Lister, bool)              { return c, true }

func (c *listedCloud) ListInventory(_ context.Context, r inventory.Request) inventory.Inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	c.parts = c.parts || r.Parts
	object := func(kind, id, service, uid string) inventory.Object {
		return inventory.Object{Kind: kind, ID: id, Name: id, Mark: inventory.Mark{Cluster: "prod", UID: uid},
			Owners: []inventory.Owner{{NamespacedName: types.NamespacedName{Namespace: "default", Name: service}}}}
	}
	found := inventory.Inventory{Cluster: "prod", Kinds: []inventory.Kind{
		{Name: "load balancer"}, {Name: "address", Needs: []string{"load balancer"}}}}
	for i := range found.Kinds {
		if found.Kinds[i].Name == c.denied {
			found.Kinds[i].Err = &cloudapi.Error{Class: cloudapi.Denied, Operation: "List", Err: errors.New("403")}
		}
	}
	// Of a kind that is denied, an earlier list may still be known.
	found.Objects = []inventory.Object{object("load balancer", "lb-web", "web", "ours"),
		object("load balancer", "lb-old", "old", "ours"), object("address", "ip-old", "old", "ours"),
		object("address", "ip-other", "x", "theirs")}
	return found
}

// exposed returns the series of the inventory's gauges that are not zero, and those of orphans.
func exposed(t *testing.T) []string {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		name, ours := strings.CutPrefix(f.GetName(), "ccm_inventory_")
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			value := m.GetGauge().GetValue()
			if ours && (value > 0 || labels["state"] == "orphaned") {
				lines = append(lines, fmt.Sprintf("%s %s %s %g", name, labels["kind"], labels["state"]+labels["class"], value))
			}
		}
	}
	return lines
}

// A list that fails has a series of its own, and its kind no other: zeros would resolve the alert about its orphans.
func TestInventoryCountsObjectsByKindAndState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &listedCloud{}
		client := fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "ours"}})
		counter, ok := NewInventory(InventoryOptions{Period: time.Hour,
			Synced: []cache.InformerSynced{func() bool { return true }},
			Session: orphans.Session{Cloud: cloud, Client: client, ClusterName: "prod", Now: time.Now, Parts: true,
				Services: func(context.Context) ([]*v1.Service, error) { return []*v1.Service{service("web")}, nil },
				Nodes:    func(context.Context) ([]*v1.Node, error) { return nil, nil },
			}})
		if !ok {
			t.Fatal("no inventory of a cloud that can list")
		}
		go counter.Run(t.Context())
		for _, step := range []struct {
			denied string
			want   []string
		}{
			{"", []string{"objects address foreign 1", "objects address orphaned 1", "objects load balancer orphaned 1",
				"objects load balancer owned 1"}},
			{"load balancer", []string{"list_failures load balancer denied 1", "objects address foreign 1",
				"objects address orphaned 0", "objects address unknown 1"}},
			{"address", []string{"list_failures address denied 1", "objects load balancer orphaned 1",
				"objects load balancer owned 1"}},
			{"", []string{"objects address foreign 1", "objects address orphaned 1", "objects load balancer orphaned 1",
				"objects load balancer owned 1"}},
		} {
			cloud.deny(step.denied)
			time.Sleep(time.Hour)
			synctest.Wait()
			if diff := cmp.Diff(step.want, exposed(t)); diff != "" {
				t.Errorf("%q is denied (-want +got):\n%s", step.denied, diff)
			}
		}
		if cloud.lists != 4 || cloud.parts {
			t.Errorf("%d lists in 4 periods, with parts: %v", cloud.lists, cloud.parts)
		}
	})
}

// Without the UID of the cluster, nothing is provably its own.
func TestInventoryWithoutClusterUIDHasNoOrphans(t *testing.T) {
	counter, _ := NewInventory(InventoryOptions{Period: time.Hour, Session: orphans.Session{Cloud: &listedCloud{},
		Client: fake.NewClientset(), ClusterName: "prod", Now: time.Now,
		Services: func(context.Context) ([]*v1.Service, error) { return nil, nil },
		Nodes:    func(context.Context) ([]*v1.Node, error) { return nil, nil },
	}})
	counter.count(t.Context())
	want := []string{"objects address orphaned 0", "objects address unknown 2", "objects load balancer orphaned 0",
		"objects load balancer unknown 2"}
	if diff := cmp.Diff(want, exposed(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInventoryNeedsAListerAndAPeriod(t *testing.T) {
	for name, o := range map[string]InventoryOptions{
		"no lister": {Period: time.Hour, Session: orphans.Session{Cloud: provider{}}},
		"no period": {Session: orphans.Session{Cloud: &listedCloud{}}},
	} {
		if _, ok := NewInventory(o); ok {
			t.Errorf("%s: an inventory runs", name)
		}
	}
}
