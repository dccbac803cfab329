package vsphere_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/simulator"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/drift"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// newLargeWorld returns a vCenter that answers in pages, with n machines of others.
func newLargeWorld(t testing.TB, n int) *sim.Cloud {
	t.Helper()
	w, err := sim.New(sim.Options{Pages: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for i := range n {
		if _, err := w.Launch(world.Machine{Name: fmt.Sprintf("other-%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// count returns how many calls of an operation were made.
func count(w *sim.Cloud, operation string) int {
	n := 0
	for _, call := range w.Front().Log().Calls() {
		if call.Name == operation {
			n++
		}
	}
	return n
}

// A cluster of three nodes pays for three machines, whatever else the vCenter has.
func TestCallBudgetsInLargeVCenter(t *testing.T) {
	machines := 10_000
	if testing.Short() {
		machines = 1_000
	}
	synctest.Test(t, func(t *testing.T) {
		w := newLargeWorld(t, machines)
		nodes := launch(t, w, "node", 3)
		c, err := newCloud("[Global]\ndatacenters = DC0\n", w)
		if err != nil {
			t.Fatal(err)
		}
		setNodes(t, c, nodes)
		calls(t, w, "3 nodes join", 30, func() { join(t, c, nodes) })
		calls(t, w, "idle for an hour", 30, func() {
			for range 12 {
				time.Sleep(5 * time.Minute)
				initialize(t, c, nodes)
			}
		})
		v2, _ := c.InstancesV2()
		time.Sleep(5 * time.Minute)
		calls(t, w, "one node not ready for a minute", 8, func() {
			for range 12 {
				exist(t, v2, nodes[0], true)
				time.Sleep(5 * time.Second)
			}
		})
		if err := w.Terminate("node-2"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		calls(t, w, "a deleted machine", 10, func() { exist(t, v2, nodes[2], false) })
		restarted := restart(t, nodes[:2], w)
		calls(t, w, "restart", 20, func() { initialize(t, restarted, nodes[:2]) })
		if n := count(w, "ContinueRetrievePropertiesEx"); n > 0 {
			t.Errorf("%d further pages of collections", n)
		}
	})
}

// bodyHas reports whether the body of a request contains a text.
func bodyHas(r *http.Request, text string) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	content, err := io.ReadAll(body)
	return err == nil && strings.Contains(string(content), text)
}

// Many nodes that join at once need a collection of all machines. It takes longer than anyone waits for a call, and is
// made once.
func TestLongCollectionServesItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLargeWorld(t, 400)
		nodes := launch(t, w, "node", 40)
		c, err := newCloudOver("", map[string]http.RoundTripper{"vcenter-0.test": roundTripper(
			func(r *http.Request) (*http.Response, error) {
				if bodyHas(r, "<ContinueRetrievePropertiesEx") {
					time.Sleep(40 * time.Second) // All pages take more than two minutes.
				}
				return w.Front().Transport().RoundTrip(r)
			})})
		if err != nil {
			t.Fatal(err)
		}
		setNodes(t, c, nodes)
		v2, _ := c.InstancesV2()
		start := time.Now()
		var joined atomic.Int32
		workqueue.ParallelizeUntil(t.Context(), 16, len(nodes), func(i int) {
			for time.Since(start) < 8*time.Minute {
				if _, err := v2.InstanceMetadata(t.Context(), nodes[i]); err == nil {
					joined.Add(1)
					return
				}
				time.Sleep(5 * time.Second)
			}
		})
		if n := joined.Load(); int(n) < len(nodes) {
			t.Errorf("%d of %d nodes joined in %v", n, len(nodes), time.Since(start))
		}
		if n := count(w, "ContinueRetrievePropertiesEx"); n > 10 {
			t.Errorf("%d further pages, which are several collections", n)
		}
		t.Logf("%d nodes joined in %v", joined.Load(), time.Since(start))
		time.Sleep(20 * time.Minute)
	})
}

// A vCenter keeps the further pages of a collection until they are read or the collection is cancelled.
func TestAbandonedCollectionIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLargeWorld(t, 400)
		var pages atomic.Int32
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := w.Front().Transport().RoundTrip(r)
			if err == nil && pages.Load() < 1 && bodyHas(r, "<ContinueRetrievePropertiesEx") {
				pages.Add(1)
				_ = resp.Body.Close()
				return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody, Request: r}, nil
			}
			return resp, err
		})
		c, err := newCloudOver("", map[string]http.RoundTripper{"vcenter-0.test": rt})
		if err != nil {
			t.Fatal(err)
		}
		v2, _ := c.InstancesV2()
		node := launch(t, w, "node", 1)[0] // Without a cluster, all machines are collected.
		_, _ = v2.InstanceMetadata(t.Context(), node)
		time.Sleep(10 * time.Minute)
		if pages.Load() != 1 || count(w, "CancelRetrievePropertiesEx") != 1 {
			t.Errorf("%d failed pages, %d cancelled collections", pages.Load(), count(w, "CancelRetrievePropertiesEx"))
		}
	})
}

// A tag that the account cannot read affects the machines below its object, and no others.
func TestUnreadableTagAffectsOnlyItsMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		nodes := launch(t, w, "node", 3) // Each is in a cluster of its own.
		if err := w.Attach(sim.CategoryRegion, "secret", w.ClusterOf("node-1")); err != nil {
			t.Fatal(err)
		}
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := w.Front().Transport().RoundTrip(r)
			if err == nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/tagging/tag/id:") {
				name := make([]byte, 1024)
				n, _ := resp.Body.Read(name)
				_ = resp.Body.Close()
				if strings.Contains(string(name[:n]), "secret") {
					return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
				}
				return w.Front().Transport().RoundTrip(r)
			}
			return resp, err
		})
		c, err := newCloudOver("", map[string]http.RoundTripper{"vcenter-0.test": rt})
		if err != nil {
			t.Fatal(err)
		}
		setNodes(t, c, nodes)
		v2, _ := c.InstancesV2()
		for i, node := range nodes {
			_, err := v2.InstanceMetadata(t.Context(), node)
			if i == 1 && (err == nil || !strings.Contains(err.Error(), "System.Read")) || i != 1 && err != nil {
				t.Errorf("%s: error %v", node.Name, err)
			}
		}
		nodes[1].Spec.Taints = nil // A node that has joined needs no zone.
		if _, err := v2.InstanceMetadata(t.Context(), nodes[1]); err != nil {
			t.Error(err)
		}
	})
}

// Machines of others cost no reads of tags.
func TestTagsOfOtherMachinesAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		launch(t, w, "other", 50)
		nodes := launch(t, w, "node", 1)
		// No object above machines has a zone: those of others would be read too.
		for i := range 3 {
			if err := w.Detach(w.ClusterOf(fmt.Sprintf("other-%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		for category, tag := range map[string]string{sim.CategoryZone: "zone", sim.CategoryRegion: sim.Region} {
			if err := w.Attach(category, tag, w.RefOf("node-0")); err != nil {
				t.Fatal(err)
			}
		}
		var read atomic.Int32
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("~action") == "list-attached-tags-on-objects" {
				if body, err := r.GetBody(); err == nil {
					content := make([]byte, r.ContentLength)
					_, _ = body.Read(content)
					read.Add(int32(strings.Count(string(content), `"VirtualMachine"`)))
				}
			}
			return w.Front().Transport().RoundTrip(r)
		})
		c, err := newCloudOver("", map[string]http.RoundTripper{"vcenter-0.test": rt})
		if err != nil {
			t.Fatal(err)
		}
		setNodes(t, c, nodes)
		initialize(t, c, nodes)
		if n := read.Load(); n != 1 {
			t.Errorf("the tags of %d machines were read, want 1", n)
		}
	})
}

// Machines with one UUID in two vCenters are copies: the node's is the one that runs, and it is not decided by which
// vCenter answers first.
func TestEqualUUIDsInTwoVCenters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newWorld(t, "first"), newWorld(t, "second")
		c, err := newCloud("", first, second)
		if err != nil {
			t.Fatal(err)
		}
		node := launch(t, first, "node", 1)[0]
		v2, _ := c.InstancesV2()
		m, err := v2.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.ProviderID, node.Spec.Taints = m.ProviderID, nil
		launch(t, second, "copy", 1)
		if err := second.Update("copy-0", func(vm *simulator.VirtualMachine) {
			vm.Config.Uuid = strings.TrimPrefix(m.ProviderID, "vsphere://")
			vm.Summary.Config.Uuid = vm.Config.Uuid
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := v2.InstanceMetadata(t.Context(), node); err == nil || !strings.Contains(err.Error(), "vcenter-0.test") ||
			!strings.Contains(err.Error(), "vcenter-1.test") {
			t.Errorf("both run: error %v", err)
		}
		if err := second.Stop("copy-0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if m, err := v2.InstanceMetadata(t.Context(), node); err != nil || m.NodeAddresses[0].Address != "node-0" {
			t.Errorf("the copy is stopped: %+v, %v", m, err)
		}
	})
}

// NSX-T lists the objects of all Services at once: the periodic audit of many Services reads them once.
func TestAuditReadsOnceForAllServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		services, nodes := newIndexer(), newIndexer()
		for i := range 40 {
			svc := webService(fmt.Sprintf("uid-%d", i), 80)
			svc.Name = fmt.Sprintf("web-%d", i)
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			svc.Finalizers = []string{servicehelper.LoadBalancerCleanupFinalizer}
			if err := services.Add(svc); err != nil {
				t.Fatal(err)
			}
		}
		for _, node := range c.nodes {
			if err := nodes.Add(node); err != nil {
				t.Fatal(err)
			}
		}
		restarted := joinAgain(t, w, c)
		a, ok := drift.New(drift.Options{
			Provider: vsphere.ProviderName, ClusterName: "kubernetes", Period: 30 * time.Minute, Client: fake.NewClientset(),
			Services: corelisters.NewServiceLister(services), Nodes: corelisters.NewNodeLister(nodes),
		}, restarted.cloud)
		if !ok {
			t.Fatal("no audit")
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.Run(ctx)
		// Five lists and those of two pools, twice an hour; names of pools, and a read of the nodes for each.
		calls(t, w, "two audits of 40 Services", 40, func() { time.Sleep(time.Hour) })
		drifted := w.LoadBalancers()[0].Name
		if _, err := w.Drift(drifted); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Minute)
		if port := w.LoadBalancers()[0].Listeners[0].MemberPort; port != 30080 {
			t.Errorf("drift was not corrected: member port %d", port)
		}
	})
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}
