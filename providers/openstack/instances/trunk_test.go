package instances

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// Addresses of trunk subports, which Nova does not return, cost two calls for all servers. If they cannot be
// read, nodes are initialized without them.
func TestTrunkSubportsAddAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{PublicNetworkNames: []string{"vlan"}}).authenticated(t)
	nodes := w.Launch(5)
	network, _, err := w.AddNetwork("vlan", netip.MustParsePrefix("192.0.2.0/24"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if _, err := w.AttachSubPort(node.Name, network); err != nil {
			t.Fatal(err)
		}
	}
	w.Front().Log().Reset()
	found, err := w.source.List(t.Context())
	if err != nil || len(found) != len(nodes) {
		t.Fatalf("found %d, %v", len(found), err)
	}
	for _, in := range found {
		if !slices.ContainsFunc(in.Addresses, func(a v1.NodeAddress) bool {
			return a.Type == v1.NodeExternalIP && netip.MustParsePrefix("192.0.2.0/24").Contains(netip.MustParseAddr(a.Address))
		}) {
			t.Errorf("%s has the addresses %v, want one of the trunk, external because its network "+
				"is", in.NodeName, in.Addresses)
		}
	}
	w.WantCalls(4)
	w.Front().SetFaults(kit.Fault{Operation: "ListNetworks", Kind: kit.FaultError, Times: -1})
	if found, err = w.source.List(t.Context()); err != nil || len(found) != len(nodes) || len(found[0].Addresses) != 1 {
		t.Errorf("found %d, %v: without the network's name a node has its own addresses", len(found), err)
	}
}

// A server of any status exists; only SHUTOFF counts as shut down.
func TestInactiveServersExist(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newWorld(t, sim.Options{Clock: c, TokenLife: 24 * time.Hour}, config.Networking{})
	nodes := w.Launch(1)
	w.Initialize(nodes)
	for status, stopped := range map[string]bool{"SHUTOFF": true, "ERROR": false, "PAUSED": false, "SUSPENDED": false, "SHELVED_OFFLOADED": false, "SOFT_DELETED": false} {
		if err := w.SetServerStatus("node-0", status); err != nil {
			t.Fatal(err)
		}
		all := w.instances()
		exists, err1 := all.InstanceExists(t.Context(), nodes[0])
		shutdown, err2 := all.InstanceShutdown(t.Context(), nodes[0])
		if err1 != nil || err2 != nil || !exists || shutdown != stopped {
			t.Errorf("%s: exists %v, %v; shut down %v, %v", status, exists, err1, shutdown, err2)
		}
	}
}

// A node without a provider ID and without a server does not exist. The guards decide how long that must
// last before the Node is deleted.
func TestNodeWithoutServerDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, config.Networking{})
	nodes := w.Launch(2)
	if err := w.Terminate("node-0"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		if exists, err := w.instances().InstanceExists(t.Context(), nodes[i]); err != nil || exists != want {
			t.Errorf("%s: exists %v, %v, want %v", nodes[i].Name, exists, err, want)
		}
	}
}
