package vsphere_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// NSX-T removes a deleted object at its next purge, within five minutes. Until then no other object can have its ID. An
// edit that is reverted must not wait for that, and neither must the next Service after the last one.
func TestObjectsAreCreatedAgainBeforeTheDeletedOnesArePurged(t *testing.T) {
	const internal, portAddedAgain = "internal", "a port is removed and added again"
	ports := func(list ...int32) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.Ports = webService("", list...).Spec.Ports }
	}
	class := func(name string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Annotations = map[string]string{names.ClassAnnotation: name} }
	}
	ranges := func(list ...string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = list }
	}
	for name, edits := range map[string][2]func(*v1.Service){
		portAddedAgain:                         {ports(80), ports(80, 443)},
		"another class, and the previous one":  {class(internal), class(names.DefaultClass)},
		"source ranges are removed and added":  {ranges(), ranges("203.0.113.0/24")},
		"a port number changes back and forth": {ports(80, 444), ports(80, 443)},
	} {
		for manager, restart := range map[string]bool{"": false, ", restarted": true} {
			if restart && name != portAddedAgain {
				continue // The first edit that a manager sees has to be approved if it disrupts.
			}
			t.Run(name+manager, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newNSXT(t)
					c := joinCluster(t, w, "cluster")
					svc := webService("uid", 80, 443)
					ranges("203.0.113.0/24")(svc)
					if err := c.ensure(t, svc); err != nil {
						t.Fatal(err)
					}
					for range 3 {
						for i, edit := range edits {
							edit(svc)
							time.Sleep(10 * time.Second)
							if restart && i == 1 {
								c = joinAgain(t, w, c)
							}
							ensureSoon(t, c, svc, restart)
						}
					}
					if have := len(servers(t, w)); have != 2 {
						t.Errorf("%d virtual servers", have)
					}
					if err := c.remove(t, svc); err != nil {
						t.Fatal(err)
					}
					expectNothingLeft(t, w)
				})
			})
		}
	}
}

// ensureSoon syncs a Service. A manager that does not know of the deletions may need a few attempts.
func ensureSoon(t *testing.T, c nsxtCluster, svc *v1.Service, retry bool) {
	t.Helper()
	err := c.ensure(t, svc)
	for range 12 {
		if retry && err != nil {
			time.Sleep(time.Second)
			err = c.ensure(t, svc)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLoadBalancerServiceIsCreatedAgainBeforeTheDeletedOneIsPurged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		for i, uid := range []string{"uid-a", "uid-b", "uid-c"} {
			svc := webService(uid, 80)
			if i == 2 {
				c = joinAgain(t, w, c)
			}
			if err := c.ensure(t, svc); err != nil {
				t.Fatal(err)
			}
			if err := c.remove(t, svc); err != nil {
				t.Fatal(err)
			}
		}
		expectNothingLeft(t, w)
	})
}

// A pool that was exhausted gives an address as soon as it has one.
func TestAddressOfExhaustedPoolIsAllocatedOnceItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXTWith(t, sim.Options{NSXT: true, Public: netip.MustParsePrefix("192.0.2.0/31")})
		c := joinCluster(t, w, "cluster")
		first, second := webService("uid-a", 80), webService("uid-b", 80)
		second.Name = "second"
		if err := c.ensure(t, first); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := c.ensure(t, second); err == nil || strings.Contains(err.Error(), "marked for deletion") {
				t.Fatalf("error %v", err)
			}
			if n := len(objectsOf(t, w, "/infra/ip-pools/"+nsxt.PublicPool+"/ip-allocations")); n != 2 {
				t.Errorf("%d allocations", n)
			}
			time.Sleep(10 * time.Second)
		}
		if err := c.remove(t, first); err != nil {
			t.Fatal(err)
		}
		if err := c.ensure(t, second); err != nil {
			t.Fatal(err)
		}
		if err := c.remove(t, second); err != nil {
			t.Fatal(err)
		}
		expectNothingLeft(t, w)
	})
}

func TestRouteIsCreatedAgainBeforeTheDeletedOneIsPurged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		const destination = "10.244.7.0/24"
		routes, _ := c.cloud.Routes()
		for i := range 4 {
			node := c.nodes[i%2]
			for _, other := range c.nodes {
				other.Spec.PodCIDRs = nil
			}
			node.Spec.PodCIDRs = []string{destination}
			setNodes(t, c.cloud, c.nodes)
			if err := c.createRoute(t, node); err != nil {
				t.Fatal(err)
			}
			list, err := routes.ListRoutes(t.Context(), "kubernetes")
			if err != nil || len(list) != 1 || list[0].TargetNode != types.NodeName(node.Name) {
				t.Fatalf("routes %v, %v", list, err)
			}
			if err := routes.DeleteRoute(t.Context(), "kubernetes", &cloudprovider.Route{
				Name: list[0].Name, TargetNode: list[0].TargetNode, DestinationCIDR: destination}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A user who gives a virtual server another pool does not stop the Service.
func TestVirtualServerGetsItsPoolBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		svc := webService("uid", 80)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		other := poolsPath + "/hand-made"
		console(t, w, http.MethodPut, other, document{"members": []any{document{"ip_address": "10.0.0.99"}}})
		edit(t, w, serversPath, document{"pool_path": other})
		c = joinAgain(t, w, c)
		if err := c.ensure(t, svc); err != nil {
			t.Fatal(err)
		}
		if have := objectsOf(t, w, serversPath)[0]["pool_path"]; have == other {
			t.Errorf("the pool is %v", have)
		}
		if have := len(objectsOf(t, w, poolsPath)); have != 2 {
			t.Errorf("%d pools", have)
		}
	})
}
