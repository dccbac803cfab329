package routes

import (
	"context"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// writes are the calls that change routes.
var writes = []string{"AddExtraRoutes", "RemoveExtraRoutes", "UpdateRouter", "UpdatePort"}

// wantNoWrites syncs a few times, and fails the test if a call changes routes.
func (w *world) wantNoWrites() {
	w.T.Helper()
	w.Front().Log().Reset()
	for range 3 {
		w.mustSync()
	}
	for _, operation := range writes {
		if n := w.Front().Log().Count()[operation]; n != 0 {
			w.T.Errorf("%d calls of %s, want none", n, operation)
		}
	}
}

// addAddresses adds all addresses of a node to the status of another, as a kubelet can.
func addAddresses(to, from *v1.Node) {
	to.Status.Addresses = append(to.Status.Addresses, from.Status.Addresses...)
}

func withoutTags(t *testing.T, w *world) {
	t.Helper()
	if _, err := w.api.SetTags(t.Context(), api.Routers, w.Places().Router, []string{}); err != nil {
		t.Fatal(err)
	}
}

func TestNodeStatusDoesNotMoveRoutes(t *testing.T) {
	t.Parallel()
	stale := func(w *world) {
		node := w.nodes[1].DeepCopy()
		node.Name, node.Spec.PodCIDRs = "stale", nil
		node.Spec.ProviderID = "openstack:///" + "00000000-0000-0000-0000-000000000000"
		node.CreationTimestamp = metav1.Unix(0, 0)
		if err := w.indexer.Add(node); err != nil {
			w.T.Fatal(err)
		}
	}
	for name, change := range map[string]func(*world){
		"a node claims the addresses of the others": func(w *world) {
			addAddresses(w.nodes[2], w.nodes[0])
			addAddresses(w.nodes[2], w.nodes[1])
		},
		"all nodes claim all addresses": func(w *world) {
			for _, to := range w.nodes {
				for _, from := range w.nodes {
					addAddresses(to, from)
				}
			}
		},
		"a stale node has a reused address":       stale,
		"a node has no address for a while":       func(w *world) { w.nodes[1].Status.Addresses = nil },
		"a node has the addresses of another one": func(w *world) { w.nodes[1].Status.Addresses = w.nodes[0].Status.Addresses },
	} {
		for adopted, prepare := range map[string]func(){"own routes": nil, "adopted routes": func() {}} {
			t.Run(name+", "+adopted, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, sim.Options{}, 3)
				w.mustSync()
				if prepare != nil {
					withoutTags(t, w)
				}
				w.restart()
				change(w)
				w.wantNoWrites()
				w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1", "10.128.2.0/24 node-2")
			})
		}
	}
}

// movedPorts is a Neutron in which the ports of a server have another address.
type movedPorts struct {
	api.NetworkAPI
	server, address string
}

func (m movedPorts) ListPorts(ctx context.Context, f api.PortFilter) ([]api.Port, error) {
	list, err := m.NetworkAPI.ListPorts(ctx, f)
	for i := range list {
		if list[i].DeviceID == m.server {
			list[i].FixedIPs = slices.Clone(list[i].FixedIPs)
			list[i].FixedIPs[0].Address = m.address
		}
	}
	return list, err
}

// The server of a node has another address than before, although other nodes claim the old one.
func TestRouteFollowsAddressOfServer(t *testing.T) {
	t.Parallel()
	const address = "10.0.0.99"
	w := newWorld(t, sim.Options{}, 3)
	w.mustSync()
	addAddresses(w.nodes[0], w.nodes[1])
	w.nodes[1].Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}
	w.source.ports = instances.NewPorts(movedPorts{w.api, w.Server("node-1"), address}, w.clock)
	for range 2 {
		_ = w.sync() // the framework retries too
	}
	router, err := w.api.GetRouter(t.Context(), w.Places().Router)
	if err != nil {
		t.Fatal(err)
	}
	var hops []string
	for _, r := range router.Routes {
		if r.DestinationCIDR == "10.128.1.0/24" {
			hops = append(hops, r.NextHop)
		}
	}
	if !slices.Equal(hops, []string{address}) {
		t.Errorf("the route to the pods of node-1 leads to %q, want %s", hops, address)
	}
}

func TestRouteToAddressOfAnotherServerIsNotCreated(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{
		"with address pairs":    {},
		"without address pairs": {WithoutExtensions: []string{"allowed-address-pairs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o, 3)
			w.nodes[2].Status.Addresses = w.nodes[0].Status.Addresses
			if err := w.sync(); err == nil || !strings.Contains(err.Error(), "node node-2") {
				t.Errorf("error %v, want one that names the node", err)
			}
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1")
		})
	}
}

// A kubelet chooses its pod CIDR and its addresses, so that they do not prove that a route is the cluster's.
func TestForeignRouteIsNotAdoptedByClaims(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{
		"with address pairs":    {},
		"without address pairs": {WithoutExtensions: []string{"allowed-address-pairs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o, 2)
			if err := w.AddForeignRoute("10.128.200.0/24"); err != nil {
				t.Fatal(err)
			}
			router, err := w.api.GetRouter(t.Context(), w.Places().Router)
			if err != nil {
				t.Fatal(err)
			}
			w.nodes[1].Spec.PodCIDRs = []string{"10.128.200.0/24"}
			w.nodes[1].Status.Addresses = append(w.nodes[1].Status.Addresses,
				v1.NodeAddress{Type: v1.NodeInternalIP, Address: router.Routes[0].NextHop})
			_ = w.sync() // the route of node-1 is an error
			if err := w.indexer.Delete(w.nodes[1]); err != nil {
				t.Fatal(err)
			}
			w.mustSync()
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.200.0/24 foreign")
		})
	}
}
