package sdktest

import (
	"net/netip"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestPorts(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"}, world.Machine{Name: "b"})
	s := c.servers(t)
	pages := ports.List(c.network, ports.ListOpts{Limit: 2})
	if got := all(t, pages, ports.ExtractPorts); len(got) != 3 {
		t.Errorf("%d ports by pages", len(got))
	}
	got := all(t, ports.List(c.network, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{IPAddress: c.addresses(t)["a"]}}}),
		ports.ExtractPorts)
	if len(got) != 1 || got[0].DeviceID != c.cloud.Server("a") || got[0].RevisionNumber == 0 {
		t.Fatalf("by address: %+v", got)
	}
	p := got[0]
	updated, err := ports.Update(t.Context(), c.network, p.ID, ports.UpdateOpts{
		AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.244.0.0/24"}},
		RevisionNumber:      ptr(p.RevisionNumber)}).Extract()
	if err != nil || len(updated.AllowedAddressPairs) != 1 || updated.AllowedAddressPairs[0].MACAddress != p.MACAddress {
		t.Errorf("%+v, %v", updated, err)
	}
	_, err = ports.Update(t.Context(), c.network, p.ID, ports.UpdateOpts{RevisionNumber: ptr(p.RevisionNumber)}).Extract()
	wantStatus(t, err, 412, "RevisionNumberConstraintFailed")
	if err := attributestags.Add(t.Context(), c.network, "ports", p.ID, "x").ExtractErr(); err != nil {
		t.Error(err)
	}
	if got := all(t, ports.List(c.network, ports.ListOpts{Tags: "x"}), ports.ExtractPorts); len(got) != 1 {
		t.Errorf("by tag: %+v", got)
	}
	if err := attributestags.Delete(t.Context(), c.network, "ports", p.ID, "x").ExtractErr(); err != nil {
		t.Error(err)
	}
	wantStatus(t, attributestags.Delete(t.Context(), c.network, "ports", p.ID, "x").ExtractErr(), 404, "TagNotFound")
	c.network.MoreHeaders = nil
	_, err = c.network.Get(t.Context(), c.network.ServiceURL("ports")+"?device_id="+s[0].ID+"&device_id="+s[1].ID+"&fields=id", ptr(struct {
		Ports []map[string]any `json:"ports"`
	}{}), nil)
	if err != nil {
		t.Errorf("%v", err)
	}
}

func TestRouters(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	r := all(t, routers.List(c.network, routers.ListOpts{}), routers.ExtractRouters)[0]
	route := routers.Route{DestinationCIDR: "10.244.1.0/24", NextHop: c.addresses(t)["a"]}
	got, err := extraroutes.Add(t.Context(), c.network, r.ID, extraroutes.Opts{Routes: &[]routers.Route{route}}).Extract()
	if err != nil || len(got.Routes) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := c.cloud.AddForeignRoute("192.168.0.0/16"); err != nil {
		t.Fatal(err)
	}
	want := []world.Route{{Destination: "10.244.1.0/24", NodeName: "a", Owned: true}, {Destination: "192.168.0.0/16"}}
	if have := c.cloud.Routes(); have[0] != want[0] || have[1] != want[1] {
		t.Errorf("routes %+v", have)
	}
	outside := routers.Route{DestinationCIDR: "10.244.2.0/24", NextHop: "192.0.2.1"}
	_, err = extraroutes.Add(t.Context(), c.network, r.ID, extraroutes.Opts{Routes: &[]routers.Route{outside}}).Extract()
	wantStatus(t, err, 400, "the nexthop is not connected with router")
	_, err = routers.Update(t.Context(), c.network, r.ID,
		routers.UpdateOpts{Routes: &[]routers.Route{}, RevisionNumber: ptr(1)}).Extract()
	wantStatus(t, err, 412, "RevisionNumberConstraintFailed")
	got = must(extraroutes.Remove(t.Context(), c.network, r.ID,
		extraroutes.Opts{Routes: &[]routers.Route{route}}).Extract())(t)
	if len(got.Routes) != 1 {
		t.Errorf("routes %+v", got.Routes)
	}
}

func TestFloatingIPs(t *testing.T) {
	c := newClients(t, sim.Options{Public: netip.MustParsePrefix("203.0.113.0/28")})
	b := c.createFull(t, "web")
	public := all(t, networks.List(c.network, networks.ListOpts{Name: "public"}), networks.ExtractNetworks)[0]
	f := must(floatingips.Create(t.Context(), c.network,
		floatingips.CreateOpts{FloatingNetworkID: public.ID, PortID: b.VipPortID, Description: "d"}).Extract())(t)
	if f.Status != "ACTIVE" || f.FixedIP != b.VipAddress || f.Description != "d" || f.RouterID == "" {
		t.Errorf("%+v", f)
	}
	if lb := c.cloud.LoadBalancers()[0]; lb.Internal || lb.Addresses[0] != f.FloatingIP {
		t.Errorf("%+v", lb)
	}
	_, err := floatingips.Create(t.Context(), c.network,
		floatingips.CreateOpts{FloatingNetworkID: public.ID, FloatingIP: "203.0.113.9"}).Extract()
	wantStatus(t, err, 403, "disallowed by policy")
	for range 11 {
		must(floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{FloatingNetworkID: public.ID}).Extract())(t)
	}
	_, err = floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{FloatingNetworkID: public.ID}).Extract()
	wantStatus(t, err, 409, "IpAddressGenerationFailure")
	if err := c.cloud.DeleteLoadBalancer("web"); err != nil {
		t.Fatal(err)
	}
	if f := must(floatingips.Get(t.Context(), c.network, f.ID).Extract())(t); f.Status != "DOWN" || f.PortID != "" {
		t.Errorf("after the load balancer's end: %+v", f)
	}
	if err := floatingips.Delete(t.Context(), c.network, f.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
}

func TestSecurityGroups(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	g := must(groups.Create(t.Context(), c.network, groups.CreateOpts{Name: "lb", Description: "d"}).Extract())(t)
	if len(g.Rules) != 2 || g.Rules[0].Direction != "egress" {
		t.Errorf("%+v", g)
	}
	o := []rules.CreateOpts{
		{SecGroupID: g.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 80, RemoteIPPrefix: "10.0.0.0/16"},
		{SecGroupID: g.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 81, PortRangeMax: 81},
	}
	if made := must(rules.CreateBulk(t.Context(), c.network, o).Extract())(t); len(made) != 2 {
		t.Errorf("%+v", made)
	}
	_, err := rules.Create(t.Context(), c.network, o[0]).Extract()
	wantStatus(t, err, 409, "SecurityGroupRuleExists")
	p := all(t, ports.List(c.network, ports.ListOpts{DeviceID: c.cloud.Server("a")}), ports.ExtractPorts)[0]
	set := func(ids []string) {
		t.Helper()
		must(ports.Update(t.Context(), c.network, p.ID, ports.UpdateOpts{SecurityGroups: &ids}).Extract())(t)
	}
	set(append(p.SecurityGroups, g.ID))
	if got := all(t, ports.List(c.network, ports.ListOpts{SecurityGroups: []string{g.ID}}),
		ports.ExtractPorts); len(got) != 1 {
		t.Errorf("ports of the group: %+v", got)
	}
	wantStatus(t, groups.Delete(t.Context(), c.network, g.ID).ExtractErr(), 409, "SecurityGroupInUse")
	set(p.SecurityGroups)
	if err := groups.Delete(t.Context(), c.network, g.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	if o := c.cloud.Objects(); o["security-group-rules"] != 8 {
		t.Errorf("%v", o)
	}
}
