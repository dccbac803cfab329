package vsphere_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// nsxtCluster is a cluster with NSX-T: its nodes, and a manager.
type nsxtCluster struct {
	cloud *vsphere.Cloud
	nodes []*v1.Node
}

// newNSXT returns a simulated vCenter with NSX-T.
func newNSXT(t testing.TB) *sim.Cloud {
	t.Helper()
	return newNSXTWith(t, sim.Options{NSXT: true})
}

func newNSXTWith(t testing.TB, o sim.Options) *sim.Cloud {
	t.Helper()
	w, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// joinCluster starts a manager for a cluster of the given UID and two nodes of its own.
func joinCluster(t testing.TB, w *sim.Cloud, uid string) nsxtCluster {
	t.Helper()
	c, err := newCloud(nsxtLines(false), w)
	if err != nil {
		t.Fatal(err)
	}
	c.SetRuntime(provider.Runtime{ClusterUID: uid, Recorder: record.NewFakeRecorder(1000)})
	out := nsxtCluster{cloud: c, nodes: launch(t, w, uid, 2)}
	v2, _ := c.InstancesV2()
	for _, node := range out.nodes {
		m, err := v2.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.ProviderID, node.Status.Addresses, node.Spec.Taints = m.ProviderID, m.NodeAddresses, nil
	}
	return out
}

func webService(uid string, ports ...int32) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID(uid)},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, ClusterIP: "10.96.0.1",
		},
	}
	for _, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: port, NodePort: 30000 + port})
	}
	return svc
}

// ensure syncs a Service and sets its status.
func (c nsxtCluster) ensure(t testing.TB, svc *v1.Service) error {
	t.Helper()
	lb, _ := c.cloud.LoadBalancer()
	status, err := lb.EnsureLoadBalancer(t.Context(), "kubernetes", svc, c.nodes)
	if err == nil {
		svc.Status.LoadBalancer = *status
	}
	return err
}

// remove deletes the load balancer of a Service.
func (c nsxtCluster) remove(t testing.TB, svc *v1.Service) error {
	t.Helper()
	lb, _ := c.cloud.LoadBalancer()
	return lb.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", svc)
}

func TestClustersOfOneNameKeepTheirLoadBalancers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		first, second := joinCluster(t, w, "first"), joinCluster(t, w, "second")
		a, b := webService("uid-a", 80), webService("uid-b", 80)
		if err := errors.Join(first.ensure(t, a), second.ensure(t, b)); err != nil {
			t.Fatal(err)
		}
		if a.Status.LoadBalancer.Ingress[0].IP == b.Status.LoadBalancer.Ingress[0].IP {
			t.Fatalf("both have the address %s", a.Status.LoadBalancer.Ingress[0].IP)
		}
		expect := func(want ...string) {
			t.Helper()
			var have []string
			for _, lb := range w.LoadBalancers() {
				for _, l := range lb.Listeners {
					have = append(have, fmt.Sprint(lb.Addresses, l.Port, l.Members))
				}
			}
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Errorf("load balancers %v, want %v", have, want)
			}
		}
		expect("[192.0.2.1] 80 [first-0 first-1]", "[192.0.2.2] 80 [second-0 second-1]")
		lb, _ := first.cloud.LoadBalancer()
		if err := lb.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", a); err != nil {
			t.Fatal(err)
		}
		expect("[192.0.2.2] 80 [second-0 second-1]")
		if n := w.Objects()["LBService"]; n != 1 {
			t.Errorf("%d load balancer services, want that of the other cluster", n)
		}
		lb, _ = second.cloud.LoadBalancer()
		if err := lb.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", b); err != nil {
			t.Fatal(err)
		}
		// The load balancer service stays: it is marked as that of the first cluster.
		if have := w.Objects(); have["LBService"] != 1 || have["IpAddressAllocation"]+have["LBPool"] != 0 {
			t.Errorf("objects %v", have)
		}
	})
}

func TestServicesShareTheLoadBalancerServiceUpToItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		lines := strings.Replace(nsxtLines(false), "size = LARGE", "size = SMALL", 1)
		c := joinCluster(t, w, "cluster")
		small, err := newCloud(lines, w)
		if err != nil {
			t.Fatal(err)
		}
		small.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000)})
		c.cloud = small
		var last error
		for i := range 21 {
			svc := webService(fmt.Sprintf("uid-%d", i), 80)
			svc.Name = fmt.Sprintf("web-%d", i)
			if last = c.ensure(t, svc); last != nil && i < 20 {
				t.Fatalf("Service %d: %v", i, last)
			}
		}
		if last == nil || !strings.Contains(last.Error(), "maximum of 20 virtual servers") {
			t.Errorf("the 21st virtual server: error %v", last)
		}
		if n := w.Objects()["LBService"]; n != 1 {
			t.Errorf("%d load balancer services", n)
		}
	})
}

func TestLoadBalancersWithoutChangeMakeNoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		var services []*v1.Service
		for i := range 15 {
			svc := webService(fmt.Sprintf("uid-%d", i), 80, 443)
			svc.Name = fmt.Sprintf("web-%d", i)
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			services = append(services, svc)
		}
		restarted := joinAgain(t, w, c)
		calls(t, w, "the first sync of 15 Services after a restart", 10, func() {
			for _, svc := range services {
				if err := restarted.ensure(t, svc); err != nil {
					t.Fatal(err)
				}
			}
		})
		restarted.nodes = append(restarted.nodes, joinCluster(t, w, "late").nodes[0])
		time.Sleep(time.Minute)
		// Five lists, two lists of allocations, and one PUT for each pool.
		calls(t, w, "a node joins 15 Services with 2 ports", 40, func() {
			lb, _ := restarted.cloud.LoadBalancer()
			for _, svc := range services {
				if err := lb.UpdateLoadBalancer(t.Context(), "kubernetes", svc, restarted.nodes); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// joinAgain returns a manager with empty caches for the same nodes.
func joinAgain(t testing.TB, w *sim.Cloud, c nsxtCluster) nsxtCluster {
	t.Helper()
	cloud, err := newCloud(nsxtLines(false), w)
	if err != nil {
		t.Fatal(err)
	}
	cloud.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000)})
	return nsxtCluster{cloud: cloud, nodes: c.nodes}
}

func TestPoolThatCannotBeResolvedFailsOnlyItsServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		cloud, err := newCloud(nsxtLines(false)+"[LoadBalancerClass \"broken\"]\nip-pool-name = none\n", w)
		if err != nil {
			t.Fatal(err)
		}
		cloud.SetRuntime(provider.Runtime{ClusterUID: "cluster", Recorder: record.NewFakeRecorder(1000)})
		c.cloud = cloud
		if err := c.ensure(t, webService("uid-a", 80)); err != nil {
			t.Error(err)
		}
		svc := webService("uid-b", 80)
		svc.Name, svc.Annotations = "broken", map[string]string{"loadbalancer.vmware.io/class": "broken"}
		if err := c.ensure(t, svc); !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), `the name "none"`) {
			t.Errorf("error %v", err)
		}
	})
}

func TestNSXTThatFailsDoesNotAffectNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		w.NSXT().SetPassword("another")
		c := joinCluster(t, w, "cluster")
		if err := c.ensure(t, webService("uid", 80)); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("error %v", err)
		}
		if err := c.cloud.Check(t.Context()); err == nil || strings.Contains(err.Error(), nsxt.Password) {
			t.Errorf("check: error %v", err)
		}
	})
}

// The token of VMware Cloud ends after a while.
func TestAccessTokenIsExchangedAgain(t *testing.T) {
	t.Run("host", func(t *testing.T) {
		exchangeToken(t, "console.test", "/csp/gateway/am/api/auth/api-tokens/authorize")
	})
	t.Run("host with a path", func(t *testing.T) { exchangeToken(t, "console.test/authorize", "/authorize") })
}

// exchangeToken asserts that the token is exchanged at the path of the host.
func exchangeToken(t *testing.T, authHost, path string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		exchanged, current := 0, ""
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			answer := func(status int, body string) (*http.Response, error) {
				return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			}
			switch {
			case r.URL.Host == "console.test" && r.URL.Path == path:
				exchanged++
				current = fmt.Sprint("token-", exchanged)
				return answer(http.StatusOK, fmt.Sprintf(`{"access_token": %q, "expires_in": 1800}`, current))
			case r.URL.Host == "nsx.test" && r.Header.Get("Authorization") == "Bearer "+current:
				r = r.Clone(r.Context())
				r.SetBasicAuth(nsxt.User, nsxt.Password)
			}
			return w.Front().Transport().RoundTrip(r)
		})
		c := provide(t, "vsphere.conf", fmt.Sprintf("[VirtualCenter \"vc.test\"]\nuser = %s\npassword = %q\n[NSXT]\n"+
			"host = nsx.test\nvmc-access-token = refresh\nvmc-auth-host = %s\n[LoadBalancer]\nsize = SMALL\n"+
			"tier1-gateway-path = %s\nip-pool-id = public\n", sim.User, sim.Password, authHost, nsxt.Tier1), nil, rt)
		for range 3 {
			if err := c.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Minute)
		}
		if exchanged != 2 {
			t.Errorf("%d exchanges in an hour, want 2", exchanged)
		}
		current = "revoked"
		if err := c.Check(t.Context()); err != nil {
			t.Errorf("a revoked token: %v", err)
		}
	})
}
