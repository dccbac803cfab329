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
