package sdktest

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func (c *clients) servers(t *testing.T) []servers.Server {
	t.Helper()
	return all(t, servers.List(c.compute, servers.ListOpts{}), servers.ExtractServers)
}

func TestServers(t *testing.T) {
	c := newClients(t, sim.Options{IPv6: true, PublicNodes: true})
	c.launch(t, world.Machine{Name: "a", Zone: "az-2", Type: "m1.large"}, world.Machine{Name: "b"},
		world.Machine{Name: "ab"})
	if got := all(t, servers.List(c.compute, servers.ListOpts{Limit: 2}), servers.ExtractServers); len(got) != 3 ||
		got[2].Name != "a" {
		t.Errorf("by pages: %+v", got)
	}
	got := all(t, servers.List(c.compute, servers.ListOpts{Name: "^a$"}), servers.ExtractServers)
	if len(got) != 1 || got[0].Status != "ACTIVE" || got[0].AvailabilityZone != "az-2" ||
		got[0].Flavor["original_name"] != nil {
		t.Fatalf("by name: %+v", got)
	}
	s := got[0]
	if a, ok := s.Addresses["private"].([]any); !ok || len(a) != 3 {
		t.Errorf("addresses %+v", s.Addresses)
	}
	f := must(flavors.Get(t.Context(), c.compute, s.Flavor["id"].(string)).Extract())(t)
	newer := *c.compute
	newer.Microversion = "2.47"
	with := must(servers.Get(t.Context(), &newer, s.ID).Extract())(t)
	if f.Name != "m1.large" || with.Flavor["original_name"] != "m1.large" {
		t.Errorf("flavor %+v, %+v", f, with.Flavor)
	}
	newer.Microversion = "2.999"
	_, err := servers.Get(t.Context(), &newer, s.ID).Extract()
	wantStatus(t, err, 406, "not supported")
	list := all(t, ports.List(c.network, ports.ListOpts{DeviceID: s.ID}), ports.ExtractPorts)
	if len(list) != 1 || list[0].Status != "ACTIVE" || len(list[0].FixedIPs) != 2 {
		t.Errorf("ports %+v", list)
	}
	if _, err := servers.UpdateMetadata(t.Context(), c.compute, s.ID,
		servers.MetadataOpts{"k": "v"}).Extract(); err != nil {
		t.Error(err)
	}
	if err := c.cloud.Stop("a"); err != nil {
		t.Fatal(err)
	}
	if s := must(servers.Get(t.Context(), c.compute, s.ID).Extract())(t); s.Status != "SHUTOFF" || s.Metadata["k"] != "v" {
		t.Errorf("stopped: %+v", s)
	}
	if err := c.cloud.Terminate("a"); err != nil {
		t.Fatal(err)
	}
	_, err = servers.Get(t.Context(), c.compute, s.ID).Extract()
	wantStatus(t, err, 404, "itemNotFound")
	if o := c.cloud.Objects(); o["servers"] != 2 || o["floating-ips"] != 3 {
		t.Errorf("objects %v", o)
	}
}
