package sdktest

import (
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// Each test of this file names the page of OpenStack's documentation, or the file of its source, with the rule that it
// checks.

// balancerOn creates a load balancer with a listener and a pool, without anything that older versions of the API lack.
func (c *clients) balancerOn(t *testing.T, provider string, algorithm pools.LBMethod) *loadbalancers.LoadBalancer {
	t.Helper()
	b := must(loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: c.cloud.Places().PrivateSubnet, Provider: provider,
		Listeners: []listeners.CreateOpts{{Name: "a", Protocol: listeners.ProtocolTCP, ProtocolPort: 80,
			DefaultPool: &pools.CreateOpts{Name: "a", Protocol: pools.ProtocolTCP, LBMethod: algorithm}}},
	}).Extract())(t)
	return must(loadbalancers.Get(t.Context(), c.balancer, b.ID).Extract())(t)
}

// octavia/api/root_controller.py lists the minor versions of Octavia's API, and the attributes and values that each of
// them added; the API reference of Octavia marks them with "New in version".
func TestOctaviaVersions(t *testing.T) {
	listener := func(o listeners.CreateOpts) func(*testing.T, *clients, *loadbalancers.LoadBalancer) error {
		return func(t *testing.T, c *clients, b *loadbalancers.LoadBalancer) error {
			o.LoadbalancerID, o.ProtocolPort = b.ID, 81
			_, err := listeners.Create(t.Context(), c.balancer, o).Extract()
			return err
		}
	}
	pool := func(o pools.CreateOpts) func(*testing.T, *clients, *loadbalancers.LoadBalancer) error {
		return func(t *testing.T, c *clients, b *loadbalancers.LoadBalancer) error {
			o.LoadbalancerID = b.ID
			_, err := pools.Create(t.Context(), c.balancer, o).Extract()
			return err
		}
	}
	timeout := 1000
	for _, tc := range []struct {
		name  string
		since int
		try   func(*testing.T, *clients, *loadbalancers.LoadBalancer) error
		text  string
	}{
		{"timeouts", 1,
			listener(listeners.CreateOpts{Protocol: "TCP", TimeoutClientData: &timeout}), "timeout_client_data"},
		{"tags", 5, listener(listeners.CreateOpts{Protocol: "TCP", Tags: []string{"a"}}), "Unknown attribute: tags"},
		{"allowed CIDRs", 12,
			listener(listeners.CreateOpts{Protocol: "TCP", AllowedCIDRs: []string{"10.0.0.0/8"}}), "allowed_cidrs"},
		{"SOURCE_IP_PORT", 13, func(t *testing.T, c *clients, _ *loadbalancers.LoadBalancer) error {
			_, err := loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
				Name: "ovn", VipSubnetID: c.cloud.Places().PrivateSubnet, Provider: "ovn",
				Pools: []pools.CreateOpts{{Name: "a", Protocol: "TCP", LBMethod: "SOURCE_IP_PORT"}},
			}).Extract()
			return err
		}, "lb_algorithm"},
		{"availability zone", 14, func(t *testing.T, c *clients, _ *loadbalancers.LoadBalancer) error {
			_, err := loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
				VipSubnetID: c.cloud.Places().PrivateSubnet, AvailabilityZone: "az-1",
			}).Extract()
			return err
		}, "availability_zone"},
		{"HTTP monitor of a UDP pool", 16, func(t *testing.T, c *clients, b *loadbalancers.LoadBalancer) error {
			p := must(pools.Create(t.Context(), c.balancer, pools.CreateOpts{
				LoadbalancerID: b.ID, Protocol: "UDP", LBMethod: "ROUND_ROBIN",
			}).Extract())(t)
			_, err := monitors.Create(t.Context(), c.balancer, monitors.CreateOpts{
				PoolID: p.ID, Type: "HTTP", Delay: 5, Timeout: 3, MaxRetries: 1,
			}).Extract()
			return err
		}, "UDP-CONNECT"},
		{"PROXYV2", 22, pool(pools.CreateOpts{Protocol: "PROXYV2", LBMethod: "ROUND_ROBIN"}), "field/attribute protocol"},
		{"SCTP", 23, listener(listeners.CreateOpts{Protocol: "SCTP"}), "field/attribute protocol"},
		{"PROMETHEUS", 25, listener(listeners.CreateOpts{Protocol: "PROMETHEUS"}), "field/attribute protocol"},
		{"additional VIPs", 26, func(t *testing.T, c *clients, _ *loadbalancers.LoadBalancer) error {
			_, err := loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
				VipSubnetID:    c.cloud.Places().PrivateSubnet,
				AdditionalVips: []loadbalancers.AdditionalVip{{SubnetID: c.cloud.Places().PrivateSubnet6}},
			}).Extract()
			return err
		}, "additional_vips"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for minor := tc.since - 1; minor <= tc.since; minor++ {
				c := newClients(t, sim.Options{OctaviaVersion: "2." + strconv.Itoa(minor), IPv6: true})
				err := tc.try(t, c, c.balancerOn(t, "amphora", pools.LBMethodRoundRobin))
				if minor < tc.since {
					wantStatus(t, err, 400, tc.text)
				} else if err != nil {
					t.Errorf("version 2.%d: %v", minor, err)
				}
			}
		})
	}
}

// The same file: the newest version is the last one of the document at the root of the service. Responses of older
// versions lack the attributes that newer ones added.
func TestOldestOctavia(t *testing.T) {
	c := newClients(t, sim.Options{OctaviaVersion: "2.0"})
	// The client of gophercloud knows no request for the root of the service, at which the versions are.
	root := *c.balancer
	root.Endpoint, root.ResourceBase = gophercloud.NormalizeURL("http://openstack.invalid/load-balancer"), ""
	versions := must(apiversions.ExtractAPIVersions(must(apiversions.List(&root).AllPages(t.Context()))(t)))(t)
	if len(versions) != 1 || versions[0].ID != "v2.0" || versions[0].Status != "CURRENT" {
		t.Errorf("versions %+v", versions)
	}
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	var shown map[string]map[string]any
	must(c.balancer.Get(t.Context(), c.balancer.ServiceURL("lbaas", "loadbalancers", b.ID), &shown, nil))(t)
	for _, name := range []string{"tags", "flavor_id", "availability_zone", "additional_vips"} {
		if _, ok := shown["loadbalancer"][name]; ok {
			t.Errorf("version 2.0 shows %s", name)
		}
	}
	_, err := loadbalancers.List(c.balancer, loadbalancers.ListOpts{Tags: []string{"a"}}).AllPages(t.Context())
	wantStatus(t, err, 400, "arguments")
}

// The section "Limitations of the OVN Provider Driver" of the documentation of ovn-octavia-provider, and its driver.py:
// IPv4 and IPv6 are not mixed; and in older releases, create_vip_port ignores additional VIPs.
func TestOVNFamilies(t *testing.T) {
	c := newClients(t, sim.Options{IPv6: true})
	b := c.balancerOn(t, "ovn", pools.LBMethodSourceIpPort)
	_, err := pools.CreateMember(t.Context(), c.balancer, b.Pools[0].ID, pools.CreateMemberOpts{
		Address: "2001:db8:a::5", ProtocolPort: 80,
	}).Extract()
	wantStatus(t, err, 501, "mixing IPv4/IPv6")
	err = pools.BatchUpdateMembers(t.Context(), c.balancer, b.Pools[0].ID, []pools.BatchUpdateMemberOpts{
		{Address: "2001:db8:a::5", ProtocolPort: 80},
	}).ExtractErr()
	wantStatus(t, err, 501, "mixing IPv4/IPv6")

	for version, want := range map[string]int{"2.26": 0, "2.27": 1} {
		c := newClients(t, sim.Options{IPv6: true, OctaviaVersion: version})
		b := must(loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
			VipSubnetID: c.cloud.Places().PrivateSubnet, Provider: "ovn",
			AdditionalVips: []loadbalancers.AdditionalVip{{SubnetID: c.cloud.Places().PrivateSubnet6}},
		}).Extract())(t)
		if len(b.AdditionalVips) != want {
			t.Errorf("version %s: additional VIPs %v, want %d", version, b.AdditionalVips, want)
		}
	}
}

// The section "Provisioning Status Codes" of the API reference of Octavia: a load balancer in ERROR is immutable, and
// can be deleted or failed over. octavia/policies/loadbalancer.py: failover is for administrators unless the policy
// says otherwise.
func TestLoadBalancerInError(t *testing.T) {
	c := newClients(t, sim.Options{AllowFailover: true})
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	fail := func() {
		if err := c.cloud.SetLoadBalancerStatus("web", "ERROR"); err != nil {
			t.Fatal(err)
		}
	}
	fail()
	_, err := loadbalancers.Update(t.Context(), c.balancer, b.ID, loadbalancers.UpdateOpts{Name: ptr("b")}).Extract()
	wantStatus(t, err, 409, "Invalid state ERROR")
	_, err = listeners.Create(t.Context(), c.balancer, listeners.CreateOpts{
		LoadbalancerID: b.ID, Protocol: listeners.ProtocolTCP, ProtocolPort: 81,
	}).Extract()
	wantStatus(t, err, 409, "immutable")
	if err := loadbalancers.Failover(t.Context(), c.balancer, b.ID).ExtractErr(); err != nil {
		t.Errorf("failover: %v", err)
	}
	if s := c.state(t, b.ID); s != "ACTIVE" {
		t.Errorf("after the failover: %s", s)
	}
	fail()
	cascade := loadbalancers.DeleteOpts{Cascade: true}
	if err := loadbalancers.Delete(t.Context(), c.balancer, b.ID, cascade).ExtractErr(); err != nil {
		t.Errorf("deletion: %v", err)
	}

	c = newClients(t, sim.Options{})
	b = c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	wantStatus(t, loadbalancers.Failover(t.Context(), c.balancer, b.ID).ExtractErr(), 403, "Policy does not allow")
}

// The section "Floating IPs" of the API reference of Neutron: the network must be external, and the port's subnet
// connected to it by a router; the section "Standard attributes tag extension": tags exist only with the extension.
func TestFloatingIPErrors(t *testing.T) {
	c := newClients(t, sim.Options{Deny: func(service, operation string) bool {
		return service == "network" && operation == "AddTag"
	}})
	places := c.cloud.Places()
	create := func(o floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
		return floatingips.Create(t.Context(), c.network, o).Extract()
	}
	_, err := create(floatingips.CreateOpts{FloatingNetworkID: places.PrivateNetwork})
	wantStatus(t, err, 400, "is not a valid external network")
	unconnected, _, err := c.cloud.AddNetwork("outside", netip.MustParsePrefix("203.0.113.0/24"), true)
	if err != nil {
		t.Fatal(err)
	}
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	_, err = create(floatingips.CreateOpts{FloatingNetworkID: unconnected, PortID: b.VipPortID})
	wantStatus(t, err, 404, "ExternalGatewayForFloatingIPNotFound")
	only6, _, err := c.cloud.AddNetwork("outside6", netip.MustParsePrefix("2001:db8:f::/64"), true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = create(floatingips.CreateOpts{FloatingNetworkID: only6})
	wantStatus(t, err, 400, "does not contain any IPv4 subnet")

	f := must(create(floatingips.CreateOpts{FloatingNetworkID: places.PublicNetwork}))(t)
	wantStatus(t, attributestags.Add(t.Context(), c.network, "floatingips", f.ID, "a").ExtractErr(), 403, "Policy")

	c = newClients(t, sim.Options{WithoutExtensions: []string{"standard-attr-tag"}})
	f = must(floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{
		FloatingNetworkID: c.cloud.Places().PublicNetwork,
	}).Extract())(t)
	wantStatus(t, attributestags.Add(t.Context(), c.network, "floatingips", f.ID, "a").ExtractErr(), 404, "")
	var shown map[string]map[string]any
	must(c.network.Get(t.Context(), c.network.ServiceURL("floatingips", f.ID), &shown, nil))(t)
	if _, ok := shown["floatingip"]["tags"]; ok {
		t.Error("a floating IP shows tags without the extension")
	}
	byTag := floatingips.List(c.network, floatingips.ListOpts{Tags: "a"})
	if list := all(t, byTag, floatingips.ExtractFloatingIPs); len(list) != 1 {
		t.Errorf("%d floating IPs: without the extension, the filter must be ignored", len(list))
	}
}

// The section "Update a load balancer" of the API reference of Octavia: the load balancer is in PENDING_UPDATE until the
// provider has finished, also when only tags changed, and in ERROR if the provider cannot finish. A change of a
// listener's tags makes the load balancer pending too: test_and_set_lb_and_listeners_prov_status of
// octavia/db/repositories.py sets the status of both.
func TestTagsMakeLoadBalancerPending(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	c := newClients(t, sim.Options{Clock: clock, SettleTime: time.Second})
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	tag := func(tags ...string) (*loadbalancers.LoadBalancer, error) {
		return loadbalancers.Update(t.Context(), c.balancer, b.ID, loadbalancers.UpdateOpts{Tags: &tags}).Extract()
	}
	if got := must(tag("a"))(t); got.ProvisioningStatus != "PENDING_UPDATE" || !slices.Equal(got.Tags, []string{"a"}) {
		t.Errorf("status %s, tags %v", got.ProvisioningStatus, got.Tags)
	}
	_, err := tag("b")
	wantStatus(t, err, 409, "Invalid state PENDING_UPDATE")
	clock.Step(time.Second)
	must(listeners.Update(t.Context(), c.balancer, b.Listeners[0].ID,
		listeners.UpdateOpts{Tags: &[]string{"c"}}).Extract())(t)
	if s := c.state(t, b.ID); s != "PENDING_UPDATE" {
		t.Errorf("after tags of a listener: %s", s)
	}
	clock.Step(time.Second)
	c.cloud.SetOutcomes(sim.OutcomeRule{Operation: "UpdateLoadBalancer", Outcome: sim.OutcomeError})
	must(tag("d"))(t)
	clock.Step(time.Second)
	if s := c.state(t, b.ID); s != "ERROR" {
		t.Errorf("after tags that the provider could not apply: %s", s)
	}
}

// delete_port of neutron/plugins/ml2/plugin.py calls disassociate_floatingips of neutron/db/l3_db.py: a floating IP
// outlives its port, with its address and its tags, and can be associated again.
func TestFloatingIPOutlivesItsPort(t *testing.T) {
	c := newClients(t, sim.Options{})
	places := c.cloud.Places()
	port := func() *ports.Port {
		return must(ports.Create(t.Context(), c.network, ports.CreateOpts{NetworkID: places.PrivateNetwork}).Extract())(t)
	}
	first, second := port(), port()
	f := must(floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{
		FloatingNetworkID: places.PublicNetwork, PortID: first.ID,
	}).Extract())(t)
	if err := attributestags.Add(t.Context(), c.network, "floatingips", f.ID, "a").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := ports.Delete(t.Context(), c.network, first.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	got := must(floatingips.Get(t.Context(), c.network, f.ID).Extract())(t)
	if got.PortID != "" || got.FixedIP != "" || got.RouterID != "" || got.Status != "DOWN" ||
		got.FloatingIP != f.FloatingIP || !slices.Equal(got.Tags, []string{"a"}) {
		t.Errorf("without its port: %+v", got)
	}
	got = must(floatingips.Update(t.Context(), c.network, f.ID, floatingips.UpdateOpts{PortID: &second.ID}).Extract())(t)
	if got.PortID != second.ID || got.Status != "ACTIVE" {
		t.Errorf("at another port: %+v", got)
	}
}

// _check_for_allowed_cidrs of ovn_octavia_provider/driver.py rejects listeners with allowed_cidrs; the amphora provider
// has them.
func TestOVNRejectsAllowedCIDRs(t *testing.T) {
	for provider, algorithm := range map[string]pools.LBMethod{
		"amphora": pools.LBMethodRoundRobin, "ovn": pools.LBMethodSourceIpPort,
	} {
		c := newClients(t, sim.Options{})
		b := c.balancerOn(t, provider, algorithm)
		_, err := listeners.Create(t.Context(), c.balancer, listeners.CreateOpts{
			LoadbalancerID: b.ID, Protocol: listeners.ProtocolTCP, ProtocolPort: 81, AllowedCIDRs: []string{"10.0.0.0/8"},
		}).Extract()
		if provider == "ovn" {
			wantStatus(t, err, 501, "allowed_cidrs")
		} else if err != nil {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// The section "Batch Update Members" of the API reference of Octavia: members are matched by address and port. Those that
// match are updated and keep their IDs, further ones are created, and those that the request lacks are deleted.
func TestBatchUpdateMatchesByAddressAndPort(t *testing.T) {
	c := newClients(t, sim.Options{})
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	set := func(addresses ...string) map[string]string {
		t.Helper()
		var members []pools.BatchUpdateMemberOpts
		for _, address := range addresses {
			members = append(members, pools.BatchUpdateMemberOpts{Address: address, ProtocolPort: 80})
		}
		if err := pools.BatchUpdateMembers(t.Context(), c.balancer, b.Pools[0].ID, members).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		for _, m := range all(t, pools.ListMembers(c.balancer, b.Pools[0].ID, nil), pools.ExtractMembers) {
			ids[m.Address] = m.ID
		}
		return ids
	}
	before := set("192.0.2.15", "192.0.2.16")
	after := set("192.0.2.16", "192.0.2.17")
	if len(after) != 2 || after["192.0.2.16"] != before["192.0.2.16"] || after["192.0.2.17"] == "" {
		t.Errorf("members %v, before %v", after, before)
	}
}

// The section "Routers" of the API reference of Neutron, for extra routes: the next hop belongs to a subnet with an
// interface of the router. Adding and removing routes keeps the others, and two routes may have one destination with
// different next hops (extension extraroute-atomic).
func TestExtraRoutes(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"}, world.Machine{Name: "b"})
	router := all(t, routers.List(c.network, routers.ListOpts{}), routers.ExtractRouters)[0].ID
	route := func(hop string) *[]routers.Route {
		return &[]routers.Route{{DestinationCIDR: "10.244.1.0/24", NextHop: hop}}
	}
	_, err := extraroutes.Add(t.Context(), c.network, router, extraroutes.Opts{Routes: route("192.0.2.1")}).Extract()
	wantStatus(t, err, 400, "nexthop")
	a, b := c.addresses(t)["a"], c.addresses(t)["b"]
	for _, hop := range []string{a, b} {
		must(extraroutes.Add(t.Context(), c.network, router, extraroutes.Opts{Routes: route(hop)}).Extract())(t)
	}
	r := must(extraroutes.Remove(t.Context(), c.network, router, extraroutes.Opts{Routes: route(a)}).Extract())(t)
	if len(r.Routes) != 1 || r.Routes[0].NextHop != b {
		t.Errorf("routes %v, want one by %s", r.Routes, b)
	}
}

// The section "List Load Balancers" of the API reference of Octavia, and "List ports" of Neutron's: an administrator gets
// the objects of all projects, unless the query names one. Other users get those of their own project.
func TestAdministratorListsAllProjects(t *testing.T) {
	c := newClients(t, sim.Options{})
	own := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	for name, tc := range map[string]struct {
		account sim.Account
		query   loadbalancers.ListOpts
		want    int
	}{
		"administrator":                        {account: c.cloud.Administrator(), want: 1},
		"administrator, another project":       {c.cloud.Administrator(), loadbalancers.ListOpts{ProjectID: "other"}, 0},
		"administrator, project of the object": {c.cloud.Administrator(), loadbalancers.ListOpts{ProjectID: own.ProjectID}, 1},
		"user of another project":              {account: c.cloud.OtherAccount(), want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			list := loadbalancers.List(clientsOf(t, c.cloud, tc.account).balancer, tc.query)
			if got := all(t, list, loadbalancers.ExtractLoadBalancers); len(got) != tc.want {
				t.Errorf("%d load balancers, want %d", len(got), tc.want)
			}
		})
	}
}

// The page "Trunking" of Neutron's networking guide, and neutron/services/trunk: a subport has the owner trunk:subport and
// the ID of the trunk as its device, so that no list of an instance's ports has it. The parent port shows the subports.
func TestSubportsBelongToTheirTrunk(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	id := must(c.cloud.AttachSubPort("a", c.cloud.Places().PrivateNetwork))(t)
	sub := must(ports.Get(t.Context(), c.network, id).Extract())(t)
	server := c.cloud.Server("a")
	if sub.DeviceOwner != "trunk:subport" || sub.DeviceID == server || sub.DeviceID == "" {
		t.Errorf("owner %s, device %s of a subport at server %s", sub.DeviceOwner, sub.DeviceID, server)
	}
	list := all(t, ports.List(c.network, ports.ListOpts{DeviceID: server}), ports.ExtractPorts)
	if len(list) != 1 || list[0].ID == id {
		t.Errorf("%d ports of the server", len(list))
	}
}

// octavia/api/v2/controllers/member.py changes the members of a batch in one transaction: one that is rejected creates
// none of the others. The address of the metadata service is not allowed.
func TestRejectedBatchCreatesNoMember(t *testing.T) {
	c := newClients(t, sim.Options{})
	b := c.balancerOn(t, "amphora", pools.LBMethodRoundRobin)
	err := pools.BatchUpdateMembers(t.Context(), c.balancer, b.Pools[0].ID, []pools.BatchUpdateMemberOpts{
		{Address: "192.0.2.15", ProtocolPort: 80}, {Address: "169.254.169.254", ProtocolPort: 80},
	}).ExtractErr()
	wantStatus(t, err, 400, "169.254.169.254")
	if members := all(t, pools.ListMembers(c.balancer, b.Pools[0].ID, nil), pools.ExtractMembers); len(members) > 0 {
		t.Errorf("members %+v", members)
	}
}
