package instances_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	pageSize = 500
	latency  = 20 * time.Millisecond
)

var fakeScheme = instances.MustScheme(instances.Table{
	Scheme: "fake",
	Forms:  []instances.Form{{Name: "current", Template: "fake://{zone}/{id}"}},
})

// cloud is a Source that counts API calls as a cloud with pages would bill them.
type cloud struct {
	mu        sync.Mutex
	instances map[string]instances.Instance
	calls     map[string]int
	fail      func(operation string, keys []string) error
	latency   time.Duration // of a page
}

func newCloud(n int) *cloud {
	c := &cloud{instances: map[string]instances.Instance{}, calls: map[string]int{}, latency: latency}
	for i := range n {
		c.launch(i)
	}
	return c
}

func (c *cloud) launch(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprintf("m-%d", i)
	c.instances[id] = instances.Instance{
		ID: id, ProviderID: "fake://a/" + id, NodeName: fmt.Sprintf("node-%d", i), Type: "small", Zone: "a", Region: "r",
		State: instances.Running, Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}},
		Labels: map[string]string{"rack": "7"},
	}
}

func (c *cloud) terminate(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.instances, fmt.Sprintf("m-%d", i))
}

func (c *cloud) total() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.calls {
		sum += n
	}
	return sum
}

func (c *cloud) read(ctx context.Context, operation string, keys []string,
	match func(instances.Instance) bool) ([]instances.Instance, error) {
	c.mu.Lock()
	var list []instances.Instance
	for _, in := range c.instances {
		if match(in) {
			list = append(list, in)
		}
	}
	pages := max(1, (len(list)+pageSize-1)/pageSize)
	c.calls[operation] += pages
	fail := c.fail
	c.mu.Unlock()
	select {
	case <-time.After(time.Duration(pages) * c.latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if fail != nil {
		if err := fail(operation, keys); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *cloud) List(ctx context.Context) ([]instances.Instance, error) {
	return c.read(ctx, "list", nil, func(instances.Instance) bool { return true })
}

func (c *cloud) Get(ctx context.Context, ids []string) ([]instances.Instance, error) {
	return c.read(ctx, "get", ids, func(in instances.Instance) bool { return slices.Contains(ids, in.ID) })
}

func (c *cloud) Find(ctx context.Context, nodes []instances.NodeRef) ([]instances.Instance, error) {
	names := instances.NamesOf(nodes)
	list, err := c.read(ctx, "find", names, func(in instances.Instance) bool {
		return slices.ContainsFunc(nodes, func(node instances.NodeRef) bool { return identifies(node, in) })
	})
	for n := range list {
		at := slices.IndexFunc(nodes, func(node instances.NodeRef) bool { return identifies(node, list[n]) })
		list[n].NodeName = nodes[at].Name
	}
	return list, err
}

// identifies reports whether a Node is that of an instance: by system UUID if both have one, else by name.
func identifies(node instances.NodeRef, in instances.Instance) bool {
	if node.SystemUUID != "" && len(in.SystemUUIDs) > 0 {
		return slices.Contains(in.SystemUUIDs, node.SystemUUID)
	}
	return node.Name == in.NodeName
}

func newInstances(c *cloud) *instances.Instances {
	return instances.New(instances.Options{Provider: "fake"}, c, fakeScheme)
}

// joiningNode is a node as its kubelet registers it.
func joiningNode(i int) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}},
	}
}

// readyNode is a node that has been initialized.
func readyNode(i int) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)},
		Spec:       v1.NodeSpec{ProviderID: fmt.Sprintf("fake://a/m-%d", i)},
	}
}

// sixteen runs f for 0..n-1 on as many workers as the framework has by default.
func sixteen(ctx context.Context, n int, f func(int)) { workqueue.ParallelizeUntil(ctx, 16, n, f) }

// budgetTest is a situation with its number of calls.
type budgetTest struct {
	known  int // instances that exist beforehand
	budget int
	run    func(t *testing.T, c *cloud, i *instances.Instances)
}

func TestCallBudget(t *testing.T) {
	verifyBudgets(t, map[string]budgetTest{
		"1,000 nodes join": {known: 1000, budget: 2, run: func(t *testing.T, _ *cloud, i *instances.Instances) {
			sixteen(t.Context(), 1000, func(n int) { mustHaveMetadata(t, i, joiningNode(n)) })
		}},
		"1,000 nodes join over a minute, each right after its launch": {budget: 50, run: func(t *testing.T, c *cloud, i *instances.Instances) {
			for batch := range 10 {
				for n := range 100 {
					c.launch(100*batch + n)
				}
				sixteen(t.Context(), 100, func(n int) { mustHaveMetadata(t, i, joiningNode(100*batch+n)) })
				time.Sleep(6 * time.Second)
			}
		}},
		"1,000 nodes join within 20 seconds, each right after its launch": {budget: 20, run: func(t *testing.T, c *cloud, i *instances.Instances) {
			var group sync.WaitGroup
			queue := make(chan int, 1000)
			for range 16 {
				group.Go(func() {
					for n := range queue {
						mustHaveMetadata(t, i, joiningNode(n))
					}
				})
			}
			for n := range 1000 {
				c.launch(n)
				queue <- n
				time.Sleep(20 * time.Millisecond)
			}
			close(queue)
			group.Wait()
		}},
		"5,000 nodes join, and a list takes 20 seconds": {known: 5000, budget: 20, run: func(t *testing.T, c *cloud,
			i *instances.Instances) {
			c.latency = 2 * time.Second
			sixteen(t.Context(), 5000, func(n int) { mustHaveMetadata(t, i, joiningNode(n)) })
		}},
		"5,000-node refresh, and a list takes 40 seconds": {known: 5000, budget: 20, run: func(t *testing.T, c *cloud,
			i *instances.Instances) {
			c.latency = 4 * time.Second
			sixteen(t.Context(), 5000, func(n int) { mustHaveMetadata(t, i, readyNode(n)) })
		}},
		"1,000-node refresh": {known: 1000, budget: 2, run: func(t *testing.T, _ *cloud, i *instances.Instances) {
			sixteen(t.Context(), 1000, func(n int) { mustHaveMetadata(t, i, readyNode(n)) })
		}},
		"lifecycle of one NotReady node for a minute": {known: 1000, budget: 3, run: func(t *testing.T, _ *cloud, i *instances.Instances) {
			for range 12 {
				mustExist(t, i, readyNode(1), true)
				if _, err := i.InstanceShutdown(t.Context(), readyNode(1)); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second)
			}
		}},
		"lifecycle of 1,000 NotReady nodes": {known: 1000, budget: 8, run: func(t *testing.T, _ *cloud, i *instances.Instances) {
			sixteen(t.Context(), 1000, func(n int) { mustExist(t, i, readyNode(n), true) })
		}},
	})
}

func mustHaveMetadata(t *testing.T, i *instances.Instances, node *v1.Node) {
	t.Helper()
	got, err := i.InstanceMetadata(t.Context(), node)
	if err != nil || got.Zone != "a" {
		t.Errorf("metadata of %s: %+v, %v", node.Name, got, err)
	}
}

func mustExist(t *testing.T, i *instances.Instances, node *v1.Node, want bool) {
	t.Helper()
	got, err := i.InstanceExists(t.Context(), node)
	if err != nil || got != want {
		t.Errorf("%s exists = %v, %v, want %v", node.Name, got, err, want)
	}
}

func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := newInstances(newCloud(3)).InstanceMetadata(t.Context(), joiningNode(2))
		if err != nil {
			t.Fatal(err)
		}
		want := &cloudprovider.InstanceMetadata{
			ProviderID: "fake://a/m-2", InstanceType: "small", Zone: "a", Region: "r",
			NodeAddresses:    []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}},
			AdditionalLabels: map[string]string{"rack": "7"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestNodeAddresses(t *testing.T) {
	first, second := v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, v1.NodeAddress{Type: v1.NodeInternalIP,
		Address: "10.9.0.1"}
	tests := []struct {
		name    string
		node    int
		nodeIP  string
		want    []v1.NodeAddress
		wantErr error
	}{
		{name: "all of the instance", want: []v1.NodeAddress{first, second}},
		{name: "the kubelet's --node-ip", nodeIP: "10.9.0.1", want: []v1.NodeAddress{second}},
		{name: "a --node-ip that the instance does not have", nodeIP: "10.7.0.1"},
		{name: "no IP address as --node-ip", nodeIP: "nonsense"},
		{name: "no instance", node: 7, wantErr: cloudprovider.InstanceNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(1)
				in := c.instances["m-0"]
				in.Addresses = []v1.NodeAddress{first, second}
				c.instances["m-0"] = in
				node := joiningNode(tt.node)
				if tt.nodeIP != "" {
					node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: tt.nodeIP}
				}
				got, err := newInstances(c).NodeAddresses(t.Context(), node)
				if err != tt.wantErr { //nolint:errorlint // the framework compares with ==
					t.Fatalf("error %v, want %v", err, tt.wantErr)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestInstanceLaunchedAfterListIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1)
		i := newInstances(c)
		mustHaveMetadata(t, i, joiningNode(0))
		c.launch(1)
		mustHaveMetadata(t, i, joiningNode(1))
		mustHaveMetadata(t, i, readyNode(1))
		if diff := cmp.Diff(map[string]int{"list": 1, "find": 1}, c.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestAbsenceRequiresReadOfThatInstance(t *testing.T) {
	for name, node := range map[string]*v1.Node{"by provider ID": readyNode(1), "by name": joiningNode(1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(2)
				i := newInstances(c)
				mustHaveMetadata(t, i, node)
				c.terminate(1)
				mustExist(t, i, node, true)
				time.Sleep(instances.SnapshotMaxAge + time.Second)
				before := c.calls["get"] + c.calls["find"]
				mustExist(t, i, node, false)
				mustExist(t, i, node, false)
				if reads := c.calls["get"] + c.calls["find"] - before; reads != 2 {
					t.Errorf("two absences took %d authoritative reads, want one each", reads)
				}
				if _, err := i.InstanceMetadata(t.Context(), node); err != cloudprovider.InstanceNotFound { //nolint:errorlint // the framework compares with ==
					t.Errorf("metadata: %v, want the sentinel itself", err)
				}
				if _, err := i.InstanceShutdown(t.Context(), node); err != cloudprovider.InstanceNotFound { //nolint:errorlint // the framework compares with ==
					t.Errorf("shutdown: %v, want the sentinel itself", err)
				}
			})
		})
	}
}

func TestReadInstanceExistsIgnoresTheSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(2)
		i := newInstances(c)
		exists := func(what string, read func(context.Context, *v1.Node) (bool, error), want bool) {
			t.Helper()
			if got, err := read(t.Context(), readyNode(1)); err != nil || got != want {
				t.Errorf("%s: %v, %v, want %v", what, got, err, want)
			}
		}
		exists("first", i.InstanceExists, true)
		c.terminate(1)
		time.Sleep(time.Second)
		exists("snapshot", i.InstanceExists, true)
		exists("cloud", i.ReadInstanceExists, false)
		c.launch(1)
		exists("cloud", i.ReadInstanceExists, true)
		exists("after", i.InstanceExists, true)
	})
}

func TestErrorIsNeverAbsence(t *testing.T) {
	for _, class := range []cloudapi.Class{
		cloudapi.Denied, cloudapi.Throttled, cloudapi.Unavailable, cloudapi.Invalid, cloudapi.NotFound, cloudapi.Unknown,
	} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(0)
				c.fail = func(operation string, _ []string) error {
					return &cloudapi.Error{Class: class, Operation: operation, Err: errors.New("no")}
				}
				i := newInstances(c)
				for _, node := range []*v1.Node{readyNode(1), joiningNode(1)} {
					if exists, err := i.InstanceExists(t.Context(), node); cloudapi.ClassOf(err) != class {
						t.Errorf("exists = %v, %v", exists, err)
					}
					if _, err := i.InstanceMetadata(t.Context(), node); cloudapi.ClassOf(err) != class {
						t.Errorf("metadata: %v", err)
					}
				}
			})
		})
	}
}

func TestFailedListFallsBackToSingleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(2)
		c.fail = func(operation string, _ []string) error {
			if operation == "list" {
				return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "List", Err: errors.New("zone a is down")}
			}
			return nil
		}
		i := newInstances(c)
		mustHaveMetadata(t, i, readyNode(0))
		mustHaveMetadata(t, i, readyNode(1))
		if c.calls["list"] != 1 {
			t.Errorf("the list that just failed was tried %d times", c.calls["list"])
		}
	})
}

func TestInvalidIDFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(20)
		c.fail = func(_ string, ids []string) error {
			if slices.Contains(ids, "bad") {
				return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Get", Err: errors.New("malformed ID")}
			}
			return nil
		}
		i := newInstances(c)
		sixteen(t.Context(), 20, func(n int) {
			node := readyNode(n)
			if n == 7 {
				node.Spec.ProviderID = "fake://a/bad"
			}
			exists, err := i.InstanceExists(t.Context(), node)
			if (err != nil) != (n == 7) || (err == nil && !exists) {
				t.Errorf("node %d: %v, %v", n, exists, err)
			}
		})
	})
}

func TestForeignAndMalformedIDsAreNeverLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(2)
		i := newInstances(c)
		var foreign *instances.ForeignIDError
		var malformed *instances.MalformedIDError
		for id, target := range map[string]any{"other://a/m-1": &foreign, "fake://m-1": &malformed} {
			node := readyNode(1)
			node.Spec.ProviderID = id
			if exists, err := i.InstanceExists(t.Context(), node); !errors.As(err, target) {
				t.Errorf("%s: exists = %v, %v", id, exists, err)
			}
		}
		if c.total() != 0 {
			t.Errorf("calls: %v", c.calls)
		}
	})
}

func TestOwnsNode(t *testing.T) {
	i := newInstances(newCloud(0))
	for id, want := range map[string]provider.Ownership{
		"fake://a/m-1": provider.Mine, "other://a/m-1": provider.Foreign, "": provider.Unknown, "fake://m-1": provider.Unknown, "m-1": provider.Unknown,
	} {
		if got := i.OwnsNode(&v1.Node{Spec: v1.NodeSpec{ProviderID: id}}); got != want {
			t.Errorf("OwnsNode(%q) = %s, want %s", id, got, want)
		}
	}
}

func TestInstanceIDForNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInstances(newCloud(2))
		if id, err := i.InstanceIDForNode(t.Context(), "node-1"); id != "m-1" || err != nil {
			t.Errorf("got %q, %v", id, err)
		}
		if _, err := i.InstanceIDForNode(t.Context(), "node-9"); err != cloudprovider.InstanceNotFound { //nolint:errorlint // the framework compares with ==
			t.Errorf("got %v, want the sentinel itself", err)
		}
		names, err := i.NodeNames(t.Context(), []string{"m-0", "m-9"})
		if diff := cmp.Diff(map[string][]string{"m-0": {"node-0"}}, names); diff != "" || err != nil {
			t.Errorf("NodeNames: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestListInFlightDoesNotRestoreAbsentInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(2)
		i := newInstances(c)
		go func() { mustHaveMetadata(t, i, readyNode(0)) }()
		synctest.Wait() // the list has read the cloud, and its answer is on the way
		c.terminate(1)
		mustExist(t, i, readyNode(1), false)
		time.Sleep(time.Second)
		mustExist(t, i, readyNode(1), false)
	})
}
