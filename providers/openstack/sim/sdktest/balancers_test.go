package sdktest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// subnet returns the private network's, that of IPv4.
func (c *clients) subnet(t *testing.T) subnets.Subnet {
	t.Helper()
	n := all(t, networks.List(c.network, networks.ListOpts{Name: "private"}), networks.ExtractNetworks)[0]
	return all(t, subnets.List(c.network, subnets.ListOpts{NetworkID: n.ID, IPVersion: 4}), subnets.ExtractSubnets)[0]
}

// addresses returns those of the machines, by name.
func (c *clients) addresses(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range c.servers(t) {
		p := all(t, ports.List(c.network, ports.ListOpts{DeviceID: s.ID}), ports.ExtractPorts)
		out[s.Name] = p[0].FixedIPs[0].IPAddress
	}
	return out
}

// full returns a load balancer with two ports over the machines.
func (c *clients) full(t *testing.T, name string) loadbalancers.CreateOpts {
	t.Helper()
	s := c.subnet(t)
	var members []pools.CreateMemberOpts
	for node, address := range c.addresses(t) {
		members = append(members, pools.CreateMemberOpts{Name: node, Address: address, ProtocolPort: 30080, SubnetID: s.ID})
	}
	pool := func(name string, protocol pools.Protocol, monitor string) *pools.CreateOpts {
		return &pools.CreateOpts{Name: name, Protocol: protocol, LBMethod: pools.LBMethodRoundRobin, Members: members,
			Monitor: monitors.CreateOpts{Type: monitor, Delay: 5, Timeout: 3, MaxRetries: 1}}
	}
	return loadbalancers.CreateOpts{Name: name, VipSubnetID: s.ID, Tags: []string{"a"}, Listeners: []listeners.CreateOpts{
		{Name: "l0", Protocol: listeners.ProtocolTCP, ProtocolPort: 80, DefaultPool: pool("p0", pools.ProtocolTCP, "TCP"), Tags: []string{"b"}, AllowedCIDRs: []string{"192.0.2.0/24"}},
		{Name: "l1", Protocol: listeners.ProtocolUDP, ProtocolPort: 80, DefaultPool: pool("p1", pools.ProtocolUDP, "UDP-CONNECT")},
	}}
}

func (c *clients) createFull(t *testing.T, name string) *loadbalancers.LoadBalancer {
	t.Helper()
	return must(loadbalancers.Create(t.Context(), c.balancer, c.full(t, name)).Extract())(t)
}

func (c *clients) state(t *testing.T, id string) string {
	t.Helper()
	return must(loadbalancers.Get(t.Context(), c.balancer, id).Extract())(t).ProvisioningStatus
}

func TestFullyPopulatedLoadBalancer(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"}, world.Machine{Name: "b"})
	b := c.createFull(t, "web")
	if b.ProvisioningStatus != "PENDING_CREATE" || len(b.Listeners) != 2 || len(b.Pools) != 2 ||
		len(b.Pools[0].Members) != 2 || b.VipPortID == "" {
		t.Errorf("created %+v", b)
	}
	if s := c.state(t, b.ID); s != "ACTIVE" {
		t.Errorf("state %s", s)
	}
	want := []world.LoadBalancer{{Name: "web", Internal: true, Addresses: []string{b.VipAddress},
		Listeners: []world.Listener{
			{Protocol: v1.ProtocolTCP, Port: 80, SourceRanges: []string{"192.0.2.0/24"}, Members: []string{"a", "b"}, MemberPort: 30080},
			{Protocol: v1.ProtocolUDP, Port: 80, Members: []string{"a", "b"}, MemberPort: 30080},
		}}}
	if diff := cmp.Diff(want, c.cloud.LoadBalancers()); diff != "" {
		t.Error(diff)
	}
	p := must(ports.Get(t.Context(), c.network, b.VipPortID).Extract())(t)
	if p.Name != "octavia-lb-"+b.ID || p.DeviceOwner != "Octavia" || p.DeviceID != "lb-"+b.ID {
		t.Errorf("VIP port %+v", p)
	}
	list := all(t, listeners.List(c.balancer, listeners.ListOpts{LoadbalancerID: b.ID}), listeners.ExtractListeners)
	if len(list) != 2 || list[0].DefaultPoolID == "" || list[0].ConnLimit != -1 || list[0].TimeoutClientData != 50000 ||
		list[0].Tags[0] != "b" {
		t.Errorf("listeners %+v", list)
	}
	all2 := all(t, pools.List(c.balancer, pools.ListOpts{LoadbalancerID: b.ID}), pools.ExtractPools)
	m := all(t, monitors.List(c.balancer, monitors.ListOpts{PoolID: all2[0].ID}), monitors.ExtractMonitors)
	if len(all2) != 2 || len(m) != 1 || m[0].MaxRetriesDown != 3 || all2[0].MonitorID != m[0].ID ||
		m[0].Pools[0].ID != all2[0].ID {
		t.Errorf("pools %+v, monitors %+v", all2, m)
	}
	tree := must(loadbalancers.GetStatuses(t.Context(), c.balancer, b.ID).Extract())(t).Loadbalancer
	if len(tree.Listeners) != 2 || tree.Listeners[0].Pools[0].Members[0].OperatingStatus != "ONLINE" {
		t.Errorf("status tree %+v", tree)
	}
	wantStatus(t, loadbalancers.Delete(t.Context(), c.balancer, b.ID, nil).ExtractErr(), 400, "it has children")
	if err := loadbalancers.Delete(t.Context(), c.balancer, b.ID,
		loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_, err := loadbalancers.Get(t.Context(), c.balancer, b.ID).Extract()
	wantStatus(t, err, 404, "Load Balancer "+b.ID+" not found.")
	if o := c.cloud.Objects(); o["load-balancers"]+o["listeners"]+o["pools"]+o["members"]+o["health-monitors"] != 0 ||
		o["ports"] != 3 {
		t.Errorf("objects that should be deleted: %v", o)
	}
}

func TestFilters(t *testing.T) {
	c := newClients(t, sim.Options{})
	first, second := c.createFull(t, "one"), c.createFull(t, "two")
	for name, tc := range map[string]struct {
		o    loadbalancers.ListOpts
		want []string
	}{
		"all":      {loadbalancers.ListOpts{}, []string{first.ID, second.ID}},
		"name":     {loadbalancers.ListOpts{Name: "two"}, []string{second.ID}},
		"port":     {loadbalancers.ListOpts{VipPortID: first.VipPortID}, []string{first.ID}},
		"tags":     {loadbalancers.ListOpts{Tags: []string{"a"}}, []string{first.ID, second.ID}},
		"not tags": {loadbalancers.ListOpts{TagsNot: []string{"a"}}, nil},
		"pages":    {loadbalancers.ListOpts{Limit: 1}, []string{first.ID, second.ID}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range all(t, loadbalancers.List(c.balancer, tc.o), loadbalancers.ExtractLoadBalancers) {
				got = append(got, b.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, err := c.balancer.Get(t.Context(), c.balancer.ServiceURL("lbaas", "pools")+"?listener_id=x", nil, nil)
	wantStatus(t, err, 400, "")
}

func TestImmutableWhilePending(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	c := newClients(t, sim.Options{Clock: clock, ProvisionTime: time.Minute, SettleTime: 5 * time.Second})
	c.launch(t, world.Machine{Name: "a"})
	b := c.createFull(t, "web")
	update := func() error {
		_, err := loadbalancers.Update(t.Context(), c.balancer, b.ID,
			loadbalancers.UpdateOpts{Description: ptr("x")}).Extract()
		return err
	}
	batch := func(o ...pools.BatchUpdateMemberOpts) error {
		return pools.BatchUpdateMembers(t.Context(), c.balancer, b.Pools[0].ID, o).ExtractErr()
	}
	wantStatus(t, update(), 409, "Invalid state PENDING_CREATE of loadbalancer resource "+b.ID)
	wantStatus(t, batch(), 409, "Load Balancer "+b.ID+" is immutable and cannot be updated.")
	clock.Step(time.Minute)
	if err := update(); err != nil || c.state(t, b.ID) != "PENDING_UPDATE" {
		t.Errorf("%v, %s", err, c.state(t, b.ID))
	}
	clock.Step(5 * time.Second)
	if err := batch(); err != nil {
		t.Error(err)
	}
	pool := must(pools.Get(t.Context(), c.balancer, b.Pools[0].ID).Extract())(t)
	listener := must(listeners.Get(t.Context(), c.balancer, b.Listeners[0].ID).Extract())(t)
	members := all(t, pools.ListMembers(c.balancer, pool.ID, nil), pools.ExtractMembers)
	if pool.ProvisioningStatus != "PENDING_UPDATE" || listener.ProvisioningStatus != "PENDING_UPDATE" ||
		members[0].ProvisioningStatus != "PENDING_DELETE" {
		t.Errorf("pool %s, listener %s, member %s", pool.ProvisioningStatus, listener.ProvisioningStatus,
			members[0].ProvisioningStatus)
	}
	clock.Step(5 * time.Second)
	if members := all(t, pools.ListMembers(c.balancer, pool.ID, nil), pools.ExtractMembers); len(members) != 0 {
		t.Errorf("members %+v", members)
	}
	if err := loadbalancers.Delete(t.Context(), c.balancer, b.ID,
		loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil || c.state(t, b.ID) != "PENDING_DELETE" {
		t.Errorf("%v, %s", err, c.state(t, b.ID))
	}
}

func TestBatchUpdateOfMembers(t *testing.T) {
	c := newClients(t, sim.Options{})
	b := c.createFull(t, "web")
	pool := b.Pools[0].ID
	batch := func(o ...pools.BatchUpdateMemberOpts) {
		t.Helper()
		if err := pools.BatchUpdateMembers(t.Context(), c.balancer, pool, o).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	batch(pools.BatchUpdateMemberOpts{Address: "10.0.0.50", ProtocolPort: 1, Name: ptr("n"), Weight: ptr(5),
		MonitorPort: ptr(99), Backup: ptr(true)},
		pools.BatchUpdateMemberOpts{Address: "10.0.0.51", ProtocolPort: 1})
	batch(pools.BatchUpdateMemberOpts{Address: "10.0.0.50", ProtocolPort: 1})
	got := all(t, pools.ListMembers(c.balancer, pool, nil), pools.ExtractMembers)
	if len(got) != 1 || got[0].Name != "n" || got[0].Weight != 1 || got[0].MonitorPort != 0 || got[0].Backup {
		t.Errorf("members %+v", got)
	}
	err := pools.BatchUpdateMembers(t.Context(), c.balancer, pool,
		[]pools.BatchUpdateMemberOpts{{Address: "10.0.0.52", ProtocolPort: 1, SubnetID: ptr("nil")}}).ExtractErr()
	if err != nil {
		t.Errorf("Octavia does not check the subnets of a batch: %v", err)
	}
}

func TestLoadBalancerErrors(t *testing.T) {
	c := newClients(t, sim.Options{})
	ctx, s := t.Context(), c.subnet(t)
	b := c.createFull(t, "web")
	create := func(o listeners.CreateOpts) error {
		o.LoadbalancerID = b.ID
		_, err := listeners.Create(ctx, c.balancer, o).Extract()
		return err
	}
	lb := func(o loadbalancers.CreateOpts) error {
		_, err := loadbalancers.Create(ctx, c.balancer, o).Extract()
		return err
	}
	for _, tc := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"HTTP on TCP's port", create(listeners.CreateOpts{Protocol: "HTTP", ProtocolPort: 80}), 409, "already using protocol TCP and protocol_port 80"},
		{"SCTP on TCP's port", create(listeners.CreateOpts{Protocol: "SCTP", ProtocolPort: 80}), 0, ""},
		{"protocol", create(listeners.CreateOpts{Protocol: "SPDY", ProtocolPort: 81}), 400, "Invalid input for field/attribute protocol"},
		{"CIDR of the other family", create(listeners.CreateOpts{Protocol: "TCP", ProtocolPort: 81, AllowedCIDRs: []string{"2001:db8::/32"}}), 400, "incompatible"},
		{"headers over TCP", create(listeners.CreateOpts{Protocol: "TCP", ProtocolPort: 81, InsertHeaders: map[string]string{"X-Forwarded-For": "true"}}), 400, "insert-headers"},
		{"no certificate", create(listeners.CreateOpts{Protocol: "TERMINATED_HTTPS", ProtocolPort: 443}), 400, "certificate container reference"},
		{"no subnet", lb(loadbalancers.CreateOpts{VipSubnetID: "x"}), 400, "Subnet x not found."},
		{"nothing for the VIP", lb(loadbalancers.CreateOpts{Name: "x"}), 400, "VIP must contain one of"},
		{"provider", lb(loadbalancers.CreateOpts{VipSubnetID: s.ID, Provider: "f5"}), 400, "Provider 'f5' is not enabled."},
		{"flavor", lb(loadbalancers.CreateOpts{VipSubnetID: s.ID, FlavorID: "f"}), 400, "Invalid flavor_id."},
		{"address in use", lb(loadbalancers.CreateOpts{VipSubnetID: s.ID, VipAddress: b.VipAddress}), 500, "already allocated"},
	} {
		if tc.status == 0 {
			if tc.err != nil {
				t.Errorf("%s: %v", tc.name, tc.err)
			}
			continue
		}
		t.Run(tc.name, func(t *testing.T) { wantStatus(t, tc.err, tc.status, tc.text) })
	}
	before := c.cloud.Objects()
	o := c.full(t, "bad")
	o.Listeners[0].AllowedCIDRs = []string{"2001:db8::/32"}
	wantStatus(t, lb(o), 400, "incompatible")
	after := c.cloud.Objects()
	if after["ports"] != before["ports"]+1 || after["load-balancers"] != before["load-balancers"] ||
		after["pools"] != before["pools"] {
		t.Errorf("a refused create leaves its port: %v, before %v", after, before)
	}
}

func TestOutcomeRules(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.cloud.SetOutcomes(sim.OutcomeRule{Outcome: sim.OutcomeError, Operation: "CreateLoadBalancer"},
		sim.OutcomeRule{Outcome: sim.OutcomeStuck, Operation: "CreateLoadBalancer", Call: 2},
		sim.OutcomeRule{Outcome: sim.OutcomeChildrenStuck, Operation: "CreateLoadBalancer", Call: 3})
	failed, stuck, half := c.createFull(t, "a"), c.createFull(t, "b"), c.createFull(t, "c")
	child := func(b *loadbalancers.LoadBalancer) string {
		return must(pools.Get(t.Context(), c.balancer, b.Pools[0].ID).Extract())(t).ProvisioningStatus
	}
	for _, tc := range []struct {
		b             *loadbalancers.LoadBalancer
		parent, child string
	}{{failed, "ERROR", "ERROR"}, {stuck, "PENDING_CREATE", "PENDING_CREATE"}, {half, "ACTIVE", "PENDING_CREATE"}} {
		if s := c.state(t, tc.b.ID); s != tc.parent || child(tc.b) != tc.child {
			t.Errorf("%s: %s with child %s", tc.b.Name, s, child(tc.b))
		}
	}
	err := pools.BatchUpdateMembers(t.Context(), c.balancer, half.Pools[0].ID,
		[]pools.BatchUpdateMemberOpts{}).ExtractErr()
	wantStatus(t, err, 409, "Pool "+half.Pools[0].ID+" is immutable")
	c.cloud.Unstick()
	if c.state(t, stuck.ID) != "ACTIVE" || child(half) != "ACTIVE" {
		t.Error("still stuck")
	}
	if err := loadbalancers.Delete(t.Context(), c.balancer, failed.ID,
		loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Error(err)
	}
}

func TestObjectsOfOtherProjectsAreHidden(t *testing.T) {
	c := newClients(t, sim.Options{})
	b := c.createFull(t, "web")
	other := clientsOf(t, c.cloud, c.cloud.OtherAccount())
	_, err := loadbalancers.Get(t.Context(), other.balancer, b.ID).Extract()
	wantStatus(t, err, 403, "Policy does not allow")
	if list := all(t, loadbalancers.List(other.balancer, loadbalancers.ListOpts{}),
		loadbalancers.ExtractLoadBalancers); len(list) != 0 {
		t.Errorf("sees %+v", list)
	}
	_, err = ports.Get(t.Context(), other.network, b.VipPortID).Extract()
	wantStatus(t, err, 404, "PortNotFound")
}

func TestOVN(t *testing.T) {
	c := newClients(t, sim.Options{})
	o := c.full(t, "ovn")
	o.Provider = "ovn"
	try := func() error {
		_, err := loadbalancers.Create(t.Context(), c.balancer, o).Extract()
		return err
	}
	wantStatus(t, try(), 501, "ROUND_ROBIN")
	for i := range o.Listeners {
		o.Listeners[i].DefaultPool.LBMethod = pools.LBMethodSourceIpPort
	}
	wantStatus(t, try(), 501, "allowed_cidrs")
	o.Listeners[0].AllowedCIDRs = nil
	if err := try(); err != nil {
		t.Error(err)
	}
}
