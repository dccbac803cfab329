package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cluster is an API server with the controller.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	context provider.ControllerContext
	events  *record.FakeRecorder
}

func newCluster(t *testing.T, config podcidr.Config) *cluster {
	t.Helper()
	c := &cluster{t: t, client: fake.NewClientset(), events: record.NewFakeRecorder(1000)}
	c.factory = informers.NewSharedInformerFactory(c.client, 0)
	nodes := c.factory.Core().V1().Nodes()
	c.context = provider.ControllerContext{
		Client: c.client, Nodes: nodes, Recorder: c.events, Clock: clock.RealClock{},
		Owns: func(n *v1.Node) provider.Ownership {
			switch {
			case n.Spec.ProviderID == "":
				return provider.Unknown
			case strings.HasPrefix(n.Spec.ProviderID, "toy://"):
				return provider.Mine
			default:
				return provider.Foreign
			}
		},
		AllocateNodeCIDRs: true, CIDRAllocatorType: RangeAllocator, PodCIDRs: config,
		PodRanges: podcidr.New(podcidr.Options{Config: config, Client: c.client, Nodes: nodes.Lister()}),
	}
	return c
}

func (c *cluster) create(name, providerID string, podCIDRs ...string) {
	c.t.Helper()
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)},
		Spec: v1.NodeSpec{ProviderID: providerID, PodCIDRs: podCIDRs}}
	if len(podCIDRs) > 0 {
		n.Spec.PodCIDR = podCIDRs[0]
	}
	if _, err := c.client.CoreV1().Nodes().Create(c.t.Context(), n, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) get(name string) *v1.Node {
	c.t.Helper()
	n, err := c.client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// give gives a Node a podCIDR without a call: reactors of calls hold the client's lock.
func (c *cluster) give(name, podCIDR string) {
	c.t.Helper()
	resource := v1.SchemeGroupVersion.WithResource("nodes")
	object, err := c.client.Tracker().Get(resource, "", name)
	if err != nil {
		c.t.Fatal(err)
	}
	n, ok := object.DeepCopyObject().(*v1.Node)
	if !ok {
		c.t.Fatalf("%T", object)
	}
	n.Spec.PodCIDR, n.Spec.PodCIDRs = podCIDR, []string{podCIDR}
	if err := c.client.Tracker().Update(resource, n, ""); err != nil {
		c.t.Fatal(err)
	}
}

// run runs the controller while f does something.
func (c *cluster) run(source Source, f func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	if started, err := Start(ctx, c.context, source); !started || err != nil {
		c.t.Fatalf("started %v, %v", started, err)
	}
	c.factory.Start(ctx.Done())
	c.factory.WaitForCacheSync(ctx.Done())
	f()
	cancel()
	c.factory.Shutdown()
	synctest.Wait()
}

// settle lets everything happen that does not wait for a retry of a second or more.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func prefixes(list ...string) (out []netip.Prefix) {
	for _, text := range list {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// patches returns the number of writes of Nodes.
func (c *cluster) patches() (n int) {
	for _, a := range c.client.Actions() {
		if a.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func TestRangeAllocator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/16", "fd00::/56"), Services: prefixes("10.0.0.0/24")})
		c.create("has", "toy://0", "10.0.1.0/24", "fd00::/64")
		c.create("of another cloud", "other://1")
		c.create("not initialized", "")
		c.run(nil, func() {
			for i := range 200 {
				c.create(fmt.Sprint(i), fmt.Sprintf("toy://%d", i))
			}
			settle()
			used := map[string]string{"10.0.1.0/24": "has", "fd00::/64": "has"}
			for i := range 200 {
				n := c.get(fmt.Sprint(i))
				if len(n.Spec.PodCIDRs) != 2 || n.Spec.PodCIDR != n.Spec.PodCIDRs[0] {
					t.Errorf("node %d has %s, %v", i, n.Spec.PodCIDR, n.Spec.PodCIDRs)
				}
				for _, p := range n.Spec.PodCIDRs {
					if other, ok := used[p]; ok || p == "10.0.0.0/24" {
						t.Errorf("nodes %d and %s have %s", i, other, p)
					}
					used[p] = n.Name
				}
			}
			for _, name := range []string{"of another cloud", "not initialized"} {
				if n := c.get(name); n.Spec.PodCIDR != "" {
					t.Errorf("node %s has %s", name, n.Spec.PodCIDR)
				}
			}
			if got := c.patches(); got != 200 {
				t.Errorf("%d writes", got)
			}
			// The route controller sets the condition of Nodes whose podCIDRs need routes.
			if n := c.get("1"); len(n.Status.Conditions) > 0 {
				t.Errorf("conditions %v", n.Status.Conditions)
			}
			n := c.get("not initialized")
			n.Spec.ProviderID = "toy://late"
			if _, err := c.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			settle()
			if n := c.get("not initialized"); len(n.Spec.PodCIDRs) != 2 {
				t.Errorf("after its initialization it has %v", n.Spec.PodCIDRs)
			}
		})
	})
}

// The result of a write decides what is known of a podCIDR.
func TestResultsOfWrites(t *testing.T) {
	lost := errors.New("lost")
	conflict := apierrors.NewConflict(v1.Resource("nodes"), "a", lost)
	for name, tc := range map[string]struct {
		// write is what happens at the first write of node a.
		write func(c *cluster, patch k8stesting.PatchAction) error
		// a and b are the podCIDRs of node a and of node b, which comes later; "" for none.
		a, b string
	}{
		"it fails": {func(*cluster, k8stesting.PatchAction) error { return conflict }, "10.0.0.0/24", "10.0.1.0/24"},
		"the reply is lost": {func(c *cluster, _ k8stesting.PatchAction) error {
			c.give("a", "10.0.0.0/24")
			return lost
		}, "10.0.0.0/24", "10.0.1.0/24"},
		"another allocator is faster": {func(c *cluster, _ k8stesting.PatchAction) error {
			c.give("a", "10.9.0.0/24")
			return conflict
		}, "10.9.0.0/24", "10.0.1.0/24"},
		"it is deleted": {func(c *cluster, _ k8stesting.PatchAction) error {
			_ = c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", "a")
			return apierrors.NewNotFound(v1.Resource("nodes"), "a")
		}, "", "10.0.1.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/23")})
				first := true
				c.client.PrependReactor("patch", "nodes", func(a k8stesting.Action) (bool, runtime.Object, error) {
					patch, ok := a.(k8stesting.PatchAction)
					if !ok || patch.GetName() != "a" || !first {
						return false, nil, nil
					}
					first = false
					return true, nil, tc.write(c, patch)
				})
				c.run(nil, func() {
					c.create("a", "toy://a")
					settle()
					c.create("b", "toy://b")
					settle()
				})
				n, err := c.client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
				if err == nil && n.Spec.PodCIDR != tc.a || apierrors.IsNotFound(err) != (tc.a == "") {
					t.Errorf("node a has %v, %v", n.Spec.PodCIDR, err)
				}
				if got := c.get("b").Spec.PodCIDR; got != tc.b {
					t.Errorf("node b has %q, want %q", got, tc.b)
				}
			})
		})
	}
}

func TestExhaustedRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/24")})
		c.create("a", "toy://a", "10.0.0.0/24")
		c.create("b", "toy://b")
		c.run(nil, func() {
			settle()
			if e := <-c.events.Events; !strings.Contains(e, "Warning CIDRNotAvailable") || !strings.Contains(e, "no /24 left") {
				t.Errorf("event %q", e)
			}
			if err := c.client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(maxBackoff)
			synctest.Wait()
			if got := c.get("b").Spec.PodCIDR; got != "10.0.0.0/24" {
				t.Errorf("got %q", got)
			}
		})
	})
}

func TestDryRunWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/16")})
		c.context.DryRun = true
		c.create("a", "toy://a")
		c.run(nil, settle)
		if got := c.patches(); got != 0 {
			t.Errorf("%d writes", got)
		}
	})
}

// A mark of a route controller that does not run is repaired; that of a network plugin is kept.
func TestNetworkCondition(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		routes bool
		has    []string
		want   v1.ConditionStatus
	}{
		"no route was created":          {reasonNoRoute, false, []string{"10.0.0.0/24"}, v1.ConditionFalse},
		"no route, and no podCIDR yet":  {reasonNoRoute, false, nil, v1.ConditionFalse},
		"another podCIDR":               {reasonNoRoute, false, []string{"10.0.1.0/24"}, v1.ConditionTrue},
		"the route controller runs":     {reasonNoRoute, true, []string{"10.0.0.0/24"}, v1.ConditionTrue},
		"a network plugin does its job": {"CalicoIsDown", false, []string{"10.0.0.0/24"}, v1.ConditionTrue},
		"a plugin, and no podCIDR yet":  {"CalicoIsDown", false, nil, v1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, podcidr.Config{})
				c.context.CIDRAllocatorType, c.context.Routes = CloudAllocator, tc.routes
				c.create("a", "toy://a", tc.has...)
				n := c.get("a")
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionTrue, Reason: tc.reason}}
				if _, err := c.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				failed := false
				c.client.PrependReactor("patch", "nodes", func(a k8stesting.Action) (bool, runtime.Object, error) {
					if patch, ok := a.(k8stesting.PatchAction); !ok || !strings.Contains(string(patch.GetPatch()), `"uid":"uid of a"`) {
						t.Errorf("the patch can be one of another Node of this name: %v", a)
					}
					defer func() { failed = true }()
					return !failed, nil, errors.New("the first one fails")
				})
				source := &toySource{}
				source.assign("toy://a", "10.0.0.0/24")
				c.run(source, func() {
					time.Sleep(maxBackoff)
					synctest.Wait()
				})
				if got := c.get("a").Status.Conditions; len(got) != 1 || got[0].Status != tc.want {
					t.Errorf("conditions %v, want one that is %s", got, tc.want)
				}
			})
		})
	}
}

// The Event says why the API server rejects podCIDRs. A conflict is only repeated.
func TestRejectedWritesAreReported(t *testing.T) {
	forbidden := apierrors.NewForbidden(v1.Resource("nodes"), "a", errors.New("by a webhook"))
	conflict := apierrors.NewConflict(v1.Resource("nodes"), "a", errors.New("changed"))
	for name, tc := range map[string]struct {
		err  error
		want string
	}{"forbidden": {forbidden, "setting podCIDRs 10.0.0.0/24: nodes \"a\" is forbidden: by a webhook"}, "conflict": {conflict, ""}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/16")})
				c.client.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
					return true, nil, tc.err
				})
				c.create("a", "toy://a")
				c.run(nil, settle)
				got := ""
				select {
				case got = <-c.events.Events:
				default:
				}
				if (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
					t.Errorf("event %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// A kubelet that writes the status of its Node again and again causes no further reads of the cloud.
func TestStatusOfNodeCausesNoReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{})
		c.context.CIDRAllocatorType = CloudAllocator
		c.create("a", "toy://a")
		source := &toySource{}
		c.run(source, func() {
			time.Sleep(10 * maxBackoff)
			synctest.Wait()
			before := source.reads.Load()
			for i := range 100 {
				n := c.get("a")
				n.Annotations = map[string]string{"at": fmt.Sprint(i)}
				if _, err := c.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if reads := source.reads.Load() - before; reads > 0 {
				t.Errorf("%d reads", reads)
			}
			n := c.get("a")
			n.Spec.ProviderID = "toy://b"
			if _, err := c.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if reads := source.reads.Load() - before; reads != 1 {
				t.Errorf("%d reads after a change, want 1", reads)
			}
		})
	})
}

// A kubelet that changes what matters again and again causes a read after a while, not one for each change.
func TestChangesOfNodeAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{})
		c.context.CIDRAllocatorType = CloudAllocator
		source := &toySource{}
		source.assign("toy://a", "10.0.1.0/28")
		c.create("a", "toy://a", "10.0.9.0/28")
		c.run(source, func() {
			time.Sleep(10 * maxBackoff)
			synctest.Wait()
			before := source.reads.Load()
			for i := range 1001 {
				n := c.get("a")
				status := v1.ConditionTrue
				if i%2 == 1 {
					status = v1.ConditionUnknown
				}
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeNetworkUnavailable, Status: status, Reason: reasonNoRoute}}
				if _, err := c.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if reads := source.reads.Load() - before; reads > 20 {
				t.Errorf("%d reads in 12 seconds", reads)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if source.reads.Load() == before {
				t.Error("no read after the last change")
			}
		})
	})
}

// The controller ends after its writes, with which the lease waits.
func TestControllerEndsAfterItsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/16")})
		c.context.Running = &sync.WaitGroup{}
		c.client.PrependReactor("patch", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
			time.Sleep(5 * time.Second)
			return false, nil, nil
		})
		c.create("a", "toy://a")
		c.run(nil, func() { time.Sleep(time.Second) })
		c.context.Running.Wait()
		if n := c.get("a"); n.Spec.PodCIDR == "" {
			t.Error("the write has not ended")
		}
	})
}

func TestStart(t *testing.T) {
	for name, tc := range map[string]struct {
		edit    func(*provider.ControllerContext)
		source  Source
		started bool
		err     string
	}{
		"ranges":            {func(*provider.ControllerContext) {}, nil, true, ""},
		"off":               {func(c *provider.ControllerContext) { c.AllocateNodeCIDRs = false }, nil, false, ""},
		"invalid range":     {func(c *provider.ControllerContext) { c.PodCIDRs.Cluster = nil }, nil, false, "--cluster-cidr is not set"},
		"cloud":             {func(c *provider.ControllerContext) { c.CIDRAllocatorType = CloudAllocator }, &toySource{}, true, ""},
		"no cloud's":        {func(c *provider.ControllerContext) { c.CIDRAllocatorType = CloudAllocator }, nil, false, "use RangeAllocator"},
		"another, no cloud": {func(c *provider.ControllerContext) { c.CIDRAllocatorType = "IPAMFromCloud" }, nil, false, "use RangeAllocator"},
		"another":           {func(c *provider.ControllerContext) { c.CIDRAllocatorType = "IPAMFromCloud" }, &toySource{}, false, "use CloudAllocator, or RangeAllocator"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := newCluster(t, podcidr.Config{Cluster: prefixes("10.0.0.0/16")})
			tc.edit(&c.context)
			started, err := Start(ctx, c.context, tc.source)
			if started != tc.started || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("started %v, %v", started, err)
			}
		})
	}
}
