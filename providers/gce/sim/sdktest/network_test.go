package sdktest

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	compute "google.golang.org/api/compute/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Page "Promote an in-use ephemeral external IP address": it becomes static, and stays with its user when it is
// released.
func TestAddressesArePromotedAndReleased(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		r := c.buildExternal("web")
		c.done(c.Addresses.Insert(project, region, &compute.Address{Name: "web", Address: r.IPAddress}))
		c.done(c.ForwardingRules.Delete(project, region, "web"))
		a := must[*compute.Address](t)(c.Addresses.Get(project, region, "web").Do())
		if a.Status != "RESERVED" || a.Address != r.IPAddress {
			t.Errorf("address is %+v", a)
		}
		c.done(c.ForwardingRules.Insert(project, region, &compute.ForwardingRule{Name: "web", IPAddress: a.Address,
			Target: "regions/europe-west1/targetPools/web", PortRange: "80"}))
		list := must[*compute.AddressList](t)(c.Addresses.List(project, region).Filter("address eq " + a.Address).Do())
		if len(list.Items) != 1 || list.Items[0].Status != "IN_USE" {
			t.Errorf("addresses are %+v", list.Items)
		}
		c.done(c.Addresses.Delete(project, region, "web"))
		if ip := c.address("web"); ip != r.IPAddress {
			t.Errorf("the rule has address %s, want %s", ip, r.IPAddress)
		}
		c.done(c.ForwardingRules.Delete(project, region, "web"))
		c.refused(c.Addresses.Insert(project, region, &compute.Address{Name: "web", Address: r.IPAddress}),
			http.StatusBadRequest, "invalid")
	})
}

// Address.purpose: SHARED_LOADBALANCER_VIP is for multiple internal forwarding rules.
func TestSharedAddressHasSeveralInternalRules(t *testing.T) {
	run(t, sim.Options{KeepUsedAddresses: true}, func(t *testing.T, c *cloud) {
		c.backends("web")
		c.done(c.Addresses.Insert(project, region, &compute.Address{Name: "vip", AddressType: "INTERNAL",
			Purpose: "SHARED_LOADBALANCER_VIP", Subnetwork: c.Places().Subnetwork}))
		for name, ports := range map[string][]string{"a": {"80"}, "b": {"443"}} {
			r := c.internalRule(name)
			r.IPAddress, r.Ports = "vip", ports
			c.done(c.ForwardingRules.Insert(project, region, r))
		}
		c.refused(c.Addresses.Delete(project, region, "vip"), http.StatusBadRequest, "resourceInUseByAnotherResource")
	})
}

func TestFirewallsAreMergedAndReplaced(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		r := c.buildExternal("web", c.launch("a", zone))
		c.done(c.Firewalls.Patch(project, "fw-web", &compute.Firewall{Name: "fw-web", SourceRanges: []string{"198.51.100.0/24"}}))
		f := must[*compute.Firewall](t)(c.Firewalls.Get(project, "fw-web").Do())
		if f.SourceRanges[0] != "198.51.100.0/24" || f.TargetTags[0] != "nodes" || f.Allowed[0].Ports[0] != "80" {
			t.Errorf("firewall after a patch is %+v", f)
		}
		// A rule that denies comes before others of its priority.
		c.done(c.Firewalls.Insert(project, &compute.Firewall{Name: "deny", Network: "global/networks/default",
			DestinationRanges: []string{r.IPAddress}, SourceRanges: []string{"0.0.0.0/0"},
			Denied: []*compute.FirewallDenied{{IPProtocol: "all"}}}))
		if l := c.LoadBalancers()[0].Listeners[0]; len(l.Members) != 0 || l.SourceRanges[0] != "none" {
			t.Errorf("listener behind a denying rule is %+v", l)
		}
		c.done(c.Firewalls.Update(project, "fw-web", &compute.Firewall{Name: "fw-web", Priority: 999,
			Network: "global/networks/default", Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"80"}}}}))
		if l := c.LoadBalancers()[0].Listeners[0]; len(l.Members) != 1 || l.SourceRanges != nil {
			t.Errorf("listener is %+v", l)
		}
		list := must[*compute.FirewallList](t)(c.Firewalls.List(project).Filter("name eq fw-.*").Do())
		if len(list.Items) != 1 || list.Items[0].TargetTags != nil {
			t.Errorf("firewalls are %+v", list.Items)
		}
	})
}

// Route.warnings tell of a next hop that does not work.
func TestRoutesOutliveTheirInstance(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.launch("a", zone)
		c.done(c.Service.Routes.Insert(project, &compute.Route{Name: "r", Network: c.Places().Network, DestRange: "10.244.1.0/24",
			Priority: 1000, NextHopInstance: "zones/" + zone + "/instances/a", Description: "k8s-node-route"}))
		if have := c.Cloud.Routes(); len(have) != 1 || have[0] != (world.Route{Destination: "10.244.1.0/24", NodeName: "a", Owned: true}) {
			t.Errorf("routes are %+v", have)
		}
		if err := c.Terminate("a"); err != nil {
			t.Fatal(err)
		}
		list := must[*compute.RouteList](t)(c.Service.Routes.List(project).Filter("(name eq r.*) (network eq " + c.Places().Network +
			") (description eq k8s-node-route)").Do())
		if len(list.Items) != 1 || list.Items[0].Warnings[0].Code != "NEXT_HOP_INSTANCE_NOT_FOUND" || !c.Cloud.Routes()[0].Blackhole {
			t.Errorf("routes are %+v", list.Items)
		}
		if err := c.AddForeignRoute("10.250.0.0/24"); err != nil {
			t.Fatal(err)
		}
		if have := c.Cloud.Routes(); len(have) != 2 || have[1].Owned {
			t.Errorf("routes are %+v", have)
		}
		c.done(c.Service.Routes.Delete(project, "r"))
		c.refused(c.Service.Routes.Delete(project, "r"), http.StatusNotFound, "notFound")
	})
}

func TestPlacesAreRead(t *testing.T) {
	run(t, sim.Options{AutoSubnets: true, OtherRegions: []string{"us-east1"}}, func(t *testing.T, c *cloud) {
		p := must[*compute.Project](t)(c.Projects.Get("100000000001").Do())
		if p.Name != project {
			t.Errorf("project of the number is %s", p.Name)
		}
		zones := must[*compute.ZoneList](t)(c.Service.Zones.List(project).Filter("region eq .*/europe-west1").Do())
		regions := must[*compute.RegionList](t)(c.Regions.List(project).Do())
		if len(zones.Items) != 3 || len(regions.Items) != 2 || len(regions.Items[0].Zones) != 3 {
			t.Errorf("zones are %+v, regions %+v", zones.Items, regions.Items)
		}
		must[*compute.Region](t)(c.Regions.Get(project, region).Do())
		n := must[*compute.Network](t)(c.Networks.Get(project, "default").Do())
		if !n.AutoCreateSubnetworks || len(n.Subnetworks) != 2 {
			t.Errorf("network is %+v", n)
		}
		must[*compute.NetworkList](t)(c.Networks.List(project).Do())
		must[*compute.Subnetwork](t)(c.Subnetworks.Get(project, region, "default").Do())
		must[*compute.SubnetworkList](t)(c.Subnetworks.List(project, region).Do())
		_, err := c.Projects.Get("other-project").Do()
		c.wantError(err, http.StatusNotFound, "notFound")
		_, err = c.Instances.List(project, "nowhere").Do()
		c.wantError(err, http.StatusBadRequest, "invalid")
		// In an automatic network the subnet is that of the region.
		c.backends("web")
		r := c.internalRule("web")
		r.Subnetwork, r.Network = "", ""
		c.done(c.ForwardingRules.Insert(project, region, r))
	})
}

func TestInstancesHaveAddressesAndRanges(t *testing.T) {
	run(t, sim.Options{Pods: netip.MustParsePrefix("10.4.0.0/14"), IPv6: true, PublicNodes: true}, func(t *testing.T, c *cloud) {
		c.launch("a", zone)
		c.launch("b", zone)
		i := must[*compute.Instance](t)(c.Instances.Get(project, zone, "b").Do())
		nic := i.NetworkInterfaces[0]
		if nic.NetworkIP == "" || nic.AccessConfigs[0].NatIP == "" || nic.Ipv6Address == "" ||
			nic.AliasIpRanges[0].IpCidrRange != "10.4.1.0/24" || i.Tags.Items[0] != "nodes" || i.Status != "RUNNING" {
			t.Errorf("instance is %+v with %+v", i, nic)
		}
		c.done(c.Instances.UpdateNetworkInterface(project, zone, "b", "nic0", &compute.NetworkInterface{
			Fingerprint: nic.Fingerprint, AliasIpRanges: []*compute.AliasIpRange{{IpCidrRange: "10.4.9.0/24"}}}))
		c.refused(c.Instances.UpdateNetworkInterface(project, zone, "b", "nic0", &compute.NetworkInterface{
			Fingerprint: nic.Fingerprint}), http.StatusPreconditionFailed, "conditionNotMet")
		m, err := c.Machine("b")
		if err != nil || m.Region != region || m.Type != "e2-medium" || !strings.HasPrefix(m.PodCIDRs[0], "10.4.1.") {
			t.Errorf("machine is %+v: %v", m, err)
		}
	})
}

// Page "Provision Shared VPC": networks, routes and firewall rules are in the host project.
func TestSharedNetworkIsInItsHostProject(t *testing.T) {
	options := sim.Options{NetworkProject: "host-project", Deny: func(permission, project string) bool {
		return project == "host-project" && permission == "compute.firewalls.create"
	}}
	run(t, options, func(t *testing.T, c *cloud) {
		c.launch("a", zone)
		c.refused(c.Firewalls.Insert("host-project", &compute.Firewall{Name: "fw",
			Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp"}}}), http.StatusForbidden, "forbidden")
		c.backends("web")
		c.done(c.ForwardingRules.Insert(project, region, c.internalRule("web")))
		if used := strings.Join(c.UsedPermissions(), "\n"); !strings.Contains(used, "compute.subnetworks.use in host-project") {
			t.Errorf("used permissions are\n%s", used)
		}
	})
}

// Page "Allocation quotas": quotaExceeded.
func TestQuotasLimit(t *testing.T) {
	run(t, sim.Options{Quotas: map[string]int{core.QuotaTargetPools: 1}}, func(t *testing.T, c *cloud) {
		c.done(c.TargetPools.Insert(project, region, &compute.TargetPool{Name: "a"}))
		c.refused(c.TargetPools.Insert(project, region, &compute.TargetPool{Name: "b"}), http.StatusForbidden, "quotaExceeded")
	})
}
