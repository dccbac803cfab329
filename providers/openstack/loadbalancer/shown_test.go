package loadbalancer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// shown is everything that the cloud says about the Service's load balancer, one fact a line, with
// names for IDs.
func (r *rig) shown(status *v1.LoadBalancerStatus) []string {
	r.t.Helper()
	out := r.records(false)
	list, err := r.api.ListLoadBalancers(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range list {
		kind := "a port of Octavia's"
		if r.named.Replace(b.VipPortID) != b.VipPortID {
			kind = "port " + b.VipPortID
		}
		out = append(out, fmt.Sprintf("placed: %s in network %s, flavor %s, zone %s, address of %s", b.Name, b.VipNetworkID, cmp.Or(b.FlavorID, "none"), cmp.Or(b.AvailabilityZone, "none"), kind))
	}
	for _, b := range list {
		if guests := names.Value(b.Tags, names.GuestsTagPrefix); guests != "" {
			out = append(out, "guests: "+guests)
		}
	}
	for _, f := range r.fips() {
		out = append(out, fmt.Sprintf("floating IP in network %s, tags %q", f.FloatingNetworkID, f.Tags))
	}
	for _, in := range status.Ingress {
		out = append(out, strings.TrimSpace(fmt.Sprintf("status: %s %s", r.place(in.IP), in.Hostname)))
		if in.IPMode != nil {
			out = append(out, "status: mode "+string(*in.IPMode))
		}
	}
	for i := range out {
		out[i] = r.named.Replace(out[i])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// place names where an address comes from, since which one of a subnet it is means nothing.
func (r *rig) place(ip string) string {
	for prefix, name := range map[string]string{"10.0.0.0/16": "{private}", "10.9.0.0/24": "{other-subnet}", "172.24.4.0/22": "{public}", "198.51.100.0/28": "{tier-a}", "192.0.2.0/28": "{public-2}"} {
		if a, err := netip.ParseAddr(ip); err == nil && netip.MustParsePrefix(prefix).Contains(a) {
			if named := r.named.Replace(ip); named != ip {
				return named
			}
			return "address of " + name
		}
	}
	return ip
}

// name gives things of the cloud names, in values of annotations and in what is shown.
func (r *rig) name() {
	r.t.Helper()
	must := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	p := r.sim.Places()
	r.named.Add("{private}", p.PrivateSubnet)
	r.named.Add("{vip}", "10.0.44.44")
	r.named.Add("{private-network}", p.PrivateNetwork)
	r.named.Add("{public}", p.PublicNetwork)
	r.named.Add("{flavor-large}", p.LoadBalancerFlavors["large"])
	r.named.Add(certificate, r.sim.AddSecret("http://openstack.invalid", "web", true))
	network, subnet, err := r.sim.AddNetwork("other", netip.MustParsePrefix("10.9.0.0/24"), false)
	must(err)
	r.named.Add("{other-network}", network)
	r.named.Add("{other-subnet}", subnet)
	network, _, err = r.sim.AddNetwork("public-2", netip.MustParsePrefix("192.0.2.0/28"), true)
	must(err)
	r.named.Add("{public-2}", network)
	subnet, err = r.sim.AddSubnet(p.PublicNetwork, "tier-a", netip.MustParsePrefix("198.51.100.0/28"), "gold")
	must(err)
	r.named.Add("{tier-a}", subnet)
	port, err := ports.Create(r.t.Context(), connect(r.t, r.front, r.sim.Account()).services[api.Network], ports.CreateOpts{NetworkID: p.PrivateNetwork, Name: "mine"}).Extract()
	must(err)
	r.named.Add("{port}", port.ID)
	free, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{FloatingNetworkID: p.PublicNetwork, Description: "mine"})
	must(err)
	r.named.Add("{address}", free.FloatingIP)
	lb, err := r.api.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{Name: "shared", Provider: cmp.Or(r.settings.Provider, "amphora"), VipSubnetID: p.PrivateSubnet})
	must(err)
	r.named.Add("{shared}", lb.ID)
	used, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{FloatingNetworkID: p.PublicNetwork, Description: "in use", PortID: lb.VipPortID})
	must(err)
	r.named.Add("{address-in-use}", used.FloatingIP)
	r.named.Add("{floating-IP-in-use}", used.ID)
	r.named.Add("{shared-port}", lb.VipPortID)
}
