package routes

import (
	"context"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// unguarded is a Neutron without port security.
type unguarded struct{ api.NetworkAPI }

func (u unguarded) ListPorts(ctx context.Context, f api.PortFilter) ([]api.Port, error) {
	list, err := u.NetworkAPI.ListPorts(ctx, f)
	off := false
	for i := range list {
		list[i].PortSecurity = &off
	}
	return list, err
}

// A port without port security needs no address pairs, and Neutron rejects them.
func TestPortsWithoutPortSecurityAreNotChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	w.source.ports = instances.NewPorts(unguarded{w.api}, w.clock)
	w.mustSync()
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1")
	if n := w.Front().Log().Count()["UpdatePort"]; n != 0 {
		t.Errorf("%d ports were changed", n)
	}
}

// A node without an address in the family of its pod CIDR is an error that names both, and does not affect
// the routes of other nodes.
func TestNodeWithoutAddressOfFamilyFailsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	w.nodes[0].Spec.PodCIDRs = append(w.nodes[0].Spec.PodCIDRs, "2001:db8:1::/64")
	err := w.sync()
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(),
		"node node-0 has no internal IPv6 address to route 2001:db8:1::/64 to") {
		t.Errorf("error %v, want one that names node, family and range", err)
	}
	w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1")
}

// Routes have internal addresses as next hops.
func TestNextHopIsInternal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 1)
	w.nodes[0].Status.Addresses = slices.Insert(w.nodes[0].Status.Addresses, 0, v1.NodeAddress{Type: v1.NodeExternalIP, Address: "198.51.100.1"}, v1.NodeAddress{Type: v1.NodeHostName, Address: "node-0"})
	w.mustSync()
	w.wantRoutes("10.128.0.0/24 node-0")
	list, err := w.routes.ListRoutes(t.Context(), "kubernetes")
	if err != nil || len(list) != 1 || list[0].TargetNode != "node-0" || list[0].Blackhole {
		t.Errorf("routes are %+v, %v", list, err)
	}
}

// Versioned and unversioned catalogs result in the same calls.
func TestRoutesWithEveryCatalogForm(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]sim.Options{"unversioned": {UnversionedCatalogue: true}, "versioned": {VersionedCatalogue: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o, 2)
			w.mustSync()
			w.wantRoutes("10.128.0.0/24 node-0", "10.128.1.0/24 node-1")
		})
	}
}

// An address on a subport of a trunk, which belongs to the trunk and not to the server.
func TestTrunkSubportGetsAddressPair(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	id, err := w.AttachSubPort("node-1", w.Places().PrivateNetwork)
	if err != nil {
		t.Fatal(err)
	}
	subPort := func() api.Port {
		t.Helper()
		port, err := w.api.GetPort(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	w.nodes[1].Status.Addresses = slices.Insert(w.nodes[1].Status.Addresses, 0,
		v1.NodeAddress{Type: v1.NodeInternalIP, Address: subPort().FixedIPs[0].Address})
	w.mustSync()
	if pairs := subPort().AllowedAddressPairs; len(pairs) != 1 || pairs[0].IPAddress != "10.128.1.0/24" {
		t.Errorf("address pairs of the subport are %v", pairs)
	}
	if pairs := w.pairs(w.nodes[1]); len(pairs) != 0 {
		t.Errorf("address pairs of the parent port are %v", pairs)
	}
	// The pair shows that the route is the cluster's, and goes with it.
	if _, err := w.api.SetTags(t.Context(), api.Routers, w.Places().Router, []string{}); err != nil {
		t.Fatal(err)
	}
	if err := w.indexer.Delete(w.nodes[1]); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.mustSync()
	w.wantRoutes("10.128.0.0/24 node-0")
	if pairs := subPort().AllowedAddressPairs; len(pairs) != 0 {
		t.Errorf("address pairs of the subport are %v after the node was deleted", pairs)
	}
}

// hiddenPorts is a Neutron that does not show the ports of a server.
type hiddenPorts struct {
	api.NetworkAPI
	server string
}

func (h hiddenPorts) ListPorts(ctx context.Context, f api.PortFilter) ([]api.Port, error) {
	list, err := h.NetworkAPI.ListPorts(ctx, f)
	return slices.DeleteFunc(list, func(p api.Port) bool { return p.DeviceID == h.server }), err
}

func TestRouteWithoutVisiblePortIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 2)
	w.source.ports = instances.NewPorts(hiddenPorts{w.api, w.Server("node-1")}, w.clock)
	err := w.sync()
	if !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), "node node-1: its server") {
		t.Errorf("error %v, want one that names the node", err)
	}
	w.wantRoutes("10.128.0.0/24 node-0")
}
