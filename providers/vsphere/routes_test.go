package vsphere_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// createRoute creates the route of a node.
func (c nsxtCluster) createRoute(t *testing.T, node *v1.Node) error {
	t.Helper()
	routes, _ := c.cloud.Routes()
	return routes.CreateRoute(t.Context(), "kubernetes", "hint",
		&cloudprovider.Route{TargetNode: types.NodeName(node.Name), DestinationCIDR: node.Spec.PodCIDRs[0]})
}

// listRoutes returns the listed routes: destination and node.
func (c nsxtCluster) listRoutes(t *testing.T) []string {
	t.Helper()
	routes, _ := c.cloud.Routes()
	list, err := routes.ListRoutes(t.Context(), "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprint(r.DestinationCIDR, " ", r.TargetNode, " ", r.Blackhole))
	}
	slices.Sort(out)
	return out
}

func TestNodeStatusDoesNotMoveRoutes(t *testing.T) {
	for name, change := range map[string]func(nodes []*v1.Node) []*v1.Node{
		"a node claims the address of another one": func(nodes []*v1.Node) []*v1.Node {
			nodes[1].Status.Addresses = append(nodes[1].Status.Addresses, nodes[0].Status.Addresses...)
			return nodes
		},
		"a stale node has a reused address": func(nodes []*v1.Node) []*v1.Node {
			stale := nodes[0].DeepCopy()
			stale.Name, stale.Spec.PodCIDRs, stale.Spec.ProviderID = "stale", nil, "vsphere://4224aaaa-0000-0000-0000-000000000000"
			stale.CreationTimestamp = metav1.Unix(0, 0)
			return append(nodes, stale)
		},
		"a node has no address for a while": func(nodes []*v1.Node) []*v1.Node {
			nodes[0].Status.Addresses = nil
			return nodes
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNSXT(t)
				c := joinCluster(t, w, "first")
				var want []string
				for i, node := range c.nodes {
					node.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", i)}
					want = append(want, fmt.Sprintf("10.244.%d.0/24 %s false", i, node.Name))
				}
				setNodes(t, c.cloud, c.nodes)
				for _, node := range c.nodes {
					if err := c.createRoute(t, node); err != nil {
						t.Fatal(err)
					}
				}
				setNodes(t, c.cloud, change(c.nodes))
				for range 3 {
					if got := c.listRoutes(t); !slices.Equal(got, want) {
						t.Errorf("routes %q, want %q", got, want)
					}
				}
			})
		})
	}
}

func TestRouteToAddressOfAnotherMachineIsNotCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "first")
		c.nodes[1].Spec.PodCIDRs = []string{"10.244.1.0/24"}
		c.nodes[1].Status.Addresses = c.nodes[0].Status.Addresses
		setNodes(t, c.cloud, c.nodes)
		err := c.createRoute(t, c.nodes[1])
		if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), c.nodes[1].Name) {
			t.Errorf("error %v, want one that names the node", err)
		}
		if got := c.listRoutes(t); len(got) != 0 {
			t.Errorf("routes %q", got)
		}
	})
}

// Without the UID of the cluster, a route belongs to it by its ID, also one with a number: that of a deleted Node is
// deleted.
func TestNumberedRouteOfDeletedNodeIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster")
		c.cloud.SetRuntime(provider.Runtime{Recorder: record.NewFakeRecorder(1000)})
		node := c.nodes[0]
		node.Spec.PodCIDRs = []string{"10.244.7.0/24"}
		setNodes(t, c.cloud, c.nodes)
		routes, _ := c.cloud.Routes()
		for i := range 2 {
			if i > 0 {
				list, err := routes.ListRoutes(t.Context(), "kubernetes")
				if err != nil || len(list) != 1 {
					t.Fatalf("routes %v, %v", list, err)
				}
				if err := routes.DeleteRoute(t.Context(), "kubernetes", list[0]); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.createRoute(t, node); err != nil {
				t.Fatal(err)
			}
		}
		setNodes(t, c.cloud, c.nodes[1:])
		if have := c.listRoutes(t); len(have) != 1 {
			t.Errorf("routes %v, want that of the deleted node", have)
		}
	})
}
