package vsphere_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// launch launches n machines and returns their nodes.
func launch(t testing.TB, w *sim.Cloud, prefix string, n int) []*v1.Node {
	t.Helper()
	var nodes []*v1.Node
	for i := range n {
		node, err := w.Launch(world.Machine{Name: fmt.Sprintf("%s-%d", prefix, i)})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// initialize reads the metadata of nodes with as many workers as the framework has by default, and applies them.
func initialize(t testing.TB, c *vsphere.Cloud, nodes []*v1.Node) {
	t.Helper()
	v2, _ := c.InstancesV2()
	workqueue.ParallelizeUntil(t.Context(), 16, len(nodes), func(i int) {
		m, err := v2.InstanceMetadata(t.Context(), nodes[i])
		if err != nil {
			t.Errorf("node %s: %v", nodes[i].Name, err)
			return
		}
		if m.Zone == "" || m.Region != sim.Region || len(m.NodeAddresses) != 3 {
			t.Errorf("node %s: %+v", nodes[i].Name, m)
		}
		nodes[i].Spec.ProviderID, nodes[i].Spec.Taints = m.ProviderID, nil
	})
}

// calls returns the number of calls of f, and fails the test if there are more than allowed.
func calls(t testing.TB, w *sim.Cloud, what string, allowed int, f func()) int {
	t.Helper()
	before := w.Front().Log().Len()
	f()
	made := w.Front().Log().Calls()[before:]
	if len(made) > allowed {
		counts := map[string]int{}
		for _, c := range made {
			counts[c.Service+" "+c.Name]++
		}
		t.Errorf("%s: %d calls, %d are allowed: %v", what, len(made), allowed, counts)
	}
	t.Logf("%s: %d calls, %d are allowed", what, len(made), allowed)
	return len(made)
}

func TestCallBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		c, err := newCloud("", w)
		if err != nil {
			t.Fatal(err)
		}
		nodes := launch(t, w, "node", 1000)
		calls(t, w, "1,000 nodes join, with zones", 30, func() { initialize(t, c, nodes) })
		time.Sleep(5 * time.Minute)
		calls(t, w, "refresh of 1,000 nodes", 6, func() { initialize(t, c, nodes) })
	})
}

func TestCallBudgetsOfAnIdleCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		c, err := newCloud("", w)
		if err != nil {
			t.Fatal(err)
		}
		count := 1000
		if testing.Short() {
			count = 60
		}
		nodes := launch(t, w, "node", count)
		initialize(t, c, nodes)
		calls(t, w, fmt.Sprintf("idle with %d nodes, an hour", count), 30, func() {
			for range 12 {
				time.Sleep(5 * time.Minute)
				initialize(t, c, nodes)
			}
		})
		v2, _ := c.InstancesV2()
		calls(t, w, "50 nodes not ready for a minute", 12, func() {
			for range 12 {
				time.Sleep(5 * time.Second)
				for _, node := range nodes[:50] {
					exists, err := v2.InstanceExists(t.Context(), node)
					if err != nil || !exists {
						t.Errorf("node %s: %v, %v", node.Name, exists, err)
					}
				}
			}
		})
	})
}

// roundTripper is a function as http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent accepts requests and never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// failing is a vCenter that fails in one way.
func failing() map[string]roundTripper {
	return map[string]roundTripper{
		"refuses": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"silent":  silent,
		"slow": func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(20 * time.Second):
				return nil, errors.New("connection reset")
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		},
		"answers with another service": func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("404 page not found")), Request: r,
			}, nil
		},
	}
}

// newPair returns the provider for a vCenter that works and for one with another transport.
func newPair(t testing.TB, good *sim.Cloud, bad http.RoundTripper) *vsphere.Cloud {
	t.Helper()
	text := fmt.Sprintf("[Global]\nuser = %s\npassword = %q\n[Labels]\nregion = %s\nzone = %s\n"+
		"[VirtualCenter \"bad.test\"]\n[VirtualCenter \"good.test\"]\n", sim.User, sim.Password, sim.CategoryRegion, sim.CategoryZone)
	cfg, _, err := config.ReadWith("vsphere.conf", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := vsphere.NewCloud(cfg, vsphere.WithTransport(func(server string) http.RoundTripper {
		if server == "bad.test" {
			return bad
		}
		return good.Front().Transport()
	}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// joinTime launches 100 nodes in a vCenter, and returns how long a provider for two takes to initialize them and to
// find that they exist.
func joinTime(t *testing.T, good *sim.Cloud, c *vsphere.Cloud) ([]*v1.Node, time.Duration) {
	t.Helper()
	nodes := launch(t, good, "node", 100)
	v2, _ := c.InstancesV2()
	start := time.Now()
	initialize(t, c, nodes)
	for _, node := range nodes {
		if exists, err := v2.InstanceExists(t.Context(), node); err != nil || !exists {
			t.Fatalf("node %s: %v, %v", node.Name, exists, err)
		}
	}
	return nodes, time.Since(start)
}

func TestFailingVCenterDelaysNoNodesOfOthers(t *testing.T) {
	for name, bad := range failing() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const latency = 100 * time.Millisecond
				healthy := newSlowWorld(t, "healthy", latency)
				other := newSlowWorld(t, "other", latency).Front().Transport()
				_, without := joinTime(t, healthy, newPair(t, healthy, other))
				good := newSlowWorld(t, "good", latency)
				c := newPair(t, good, bad)
				nodes, took := joinTime(t, good, c)
				if took > without+2*time.Second {
					t.Errorf("100 nodes of the other vCenter took %v, and %v if no vCenter fails", took, without)
				}
				t.Logf("100 nodes of the other vCenter took %v, and %v if no vCenter fails", took, without)
				v2, _ := c.InstancesV2()
				// The loops of the framework visit nodes one by one: those of the failing vCenter must not block them either.
				lost := make([]*v1.Node, 20)
				for i := range lost {
					lost[i] = nodes[0].DeepCopy()
					lost[i].Spec.ProviderID = fmt.Sprintf("vsphere://00000000-0000-0000-0000-%012d", i)
				}
				start := time.Now()
				for _, node := range slices.Concat(lost, nodes) {
					if exists, err := v2.InstanceExists(t.Context(), node); err == nil && !exists {
						t.Fatalf("node %s counts as deleted", node.Spec.ProviderID)
					}
				}
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("20 nodes that may be in the failing vCenter and 100 others took %v", took)
				}
				time.Sleep(5 * time.Minute) // Everything in flight ends with the bubble.
			})
		})
	}
}

func TestVCenterThatRecoversServesItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, other := newWorld(t, "good"), newWorld(t, "other")
		var broken atomic.Bool
		broken.Store(true)
		c := newPair(t, good, roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken.Load() {
				return silent(r)
			}
			return other.Front().Transport().RoundTrip(r)
		}))
		node := launch(t, other, "late", 1)[0]
		v2, _ := c.InstancesV2()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := v2.InstanceMetadata(ctx, node); err == nil || !strings.Contains(err.Error(), "vCenter bad.test") {
			t.Errorf("error %v", err)
		}
		if err := c.Health()[0].Err; err != nil {
			t.Logf("health: %v", err)
		}
		broken.Store(false)
		time.Sleep(2 * time.Minute)
		initialize(t, c, []*v1.Node{node})
		time.Sleep(5 * time.Minute)
	})
}

func TestManagerStartsIfOneVCenterAcceptsTheCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, other := newWorld(t, "good"), newWorld(t, "other")
		c := newPair(t, good, other.Front().Transport())
		if err := c.Check(t.Context()); err != nil {
			t.Errorf("both accept: %v", err)
		}
		other.SetPassword("another")
		c = newPair(t, good, other.Front().Transport())
		if err := c.Check(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), "bad.test rejects") {
			t.Errorf("one rejects: error %v", err)
		}
		good.SetPassword("another")
		c = newPair(t, good, other.Front().Transport())
		if err := c.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("both reject: error %v", err)
		}
	})
}

func TestSecretThatCannotBeReadYetIsNoRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		cfg, _, err := config.ReadWith("f", []byte("[VirtualCenter \"vc.test\"]\nsecret-name = s\nsecret-namespace = ns\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := vsphere.NewCloud(cfg, vsphere.WithTransport(func(string) http.RoundTripper { return w.Front().Transport() }))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); err == nil || cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("error %v", err)
		}
		if n := w.Front().Log().Len(); n > 0 {
			t.Errorf("%d calls without credentials", n)
		}
	})
}
