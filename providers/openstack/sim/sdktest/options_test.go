package sdktest

import (
	"net/netip"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestFlavorsZonesAndProviders(t *testing.T) {
	c := newClients(t, sim.Options{IPv6: true})
	places := c.cloud.Places()
	if got := all(t, flavors.List(c.balancer, flavors.ListOpts{}), flavors.ExtractFlavors); len(got) != 2 ||
		got[0].ID != places.LoadBalancerFlavors[got[0].Name] {
		t.Errorf("flavors %+v", got)
	}
	if got := all(t, providers.List(c.balancer, providers.ListOpts{}), providers.ExtractProviders); len(got) != 2 ||
		got[0].Name != "amphora" {
		t.Errorf("providers %+v", got)
	}
	b := must(loadbalancers.Create(t.Context(), c.balancer, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: places.PrivateSubnet, FlavorID: places.LoadBalancerFlavors["large"],
		AvailabilityZone: "az-2",
		AdditionalVips:   []loadbalancers.AdditionalVip{{SubnetID: places.PrivateSubnet6}},
	}).Extract())(t)
	if b.AvailabilityZone != "az-2" || b.FlavorID != places.LoadBalancerFlavors["large"] || len(b.AdditionalVips) != 1 {
		t.Errorf("%+v", b)
	}
	if a := c.cloud.LoadBalancers()[0].Addresses; len(a) != 2 || a[1] != b.AdditionalVips[0].IPAddress {
		t.Errorf("addresses %v", a)
	}
	for _, cidr := range []string{"192.0.2.0/24", "2001:db8::/32"} {
		must(listeners.Create(t.Context(), c.balancer,
			listeners.CreateOpts{LoadbalancerID: b.ID, Protocol: listeners.ProtocolTCP,
				ProtocolPort: len(cidr), AllowedCIDRs: []string{cidr}}).Extract())(t)
	}
	list := all(t, networks.List(c.network, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{},
		External: ptr(true)}), networks.ExtractNetworks)
	if len(list) != 1 || list[0].ID != places.PublicNetwork {
		t.Errorf("external networks %+v", list)
	}
}

func TestCertificates(t *testing.T) {
	c := newClients(t, sim.Options{})
	b := c.createFull(t, "web")
	for _, inContainer := range []bool{true, false} {
		ref := c.cloud.AddSecret("http://openstack.invalid", "tls", inContainer)
		id := ref[len(ref)-36:]
		var err error
		if inContainer {
			_, err = containers.Get(t.Context(), c.secrets, id).Extract()
		} else {
			_, err = secrets.Get(t.Context(), c.secrets, id).Extract()
		}
		if err != nil {
			t.Error(err)
		}
		l := must(listeners.Create(t.Context(), c.balancer,
			listeners.CreateOpts{LoadbalancerID: b.ID, Protocol: "TERMINATED_HTTPS", ProtocolPort: 440 + len(ref),
				DefaultTlsContainerRef: ref, InsertHeaders: map[string]string{"X-Forwarded-For": "true"}}).Extract())(t)
		if l.DefaultTlsContainerRef != ref {
			t.Errorf("%+v", l)
		}
	}
	_, err := containers.Get(t.Context(), c.secrets, "x").Extract()
	wantStatus(t, err, 404, "")
}

func TestSubnetsByTagsAndExhaustion(t *testing.T) {
	c := newClients(t, sim.Options{})
	places := c.cloud.Places()
	gold := must(c.cloud.AddSubnet(places.PublicNetwork, "gold", netip.MustParsePrefix("203.0.113.0/28"), "gold",
		"paid"))(t)
	must(c.cloud.AddSubnet(places.PublicNetwork, "silver", netip.MustParsePrefix("203.0.113.16/28"), "silver", "paid"))(t)
	for _, tc := range []struct {
		o    subnets.ListOpts
		want int
	}{
		{subnets.ListOpts{Tags: "gold,paid"}, 1}, {subnets.ListOpts{TagsAny: "gold,silver"}, 2}, {subnets.ListOpts{NotTags: "gold,paid"}, 2},
		{subnets.ListOpts{NotTagsAny: "gold,paid"}, 1}, {subnets.ListOpts{}, 3},
	} {
		tc.o.NetworkID = places.PublicNetwork
		if got := all(t, subnets.List(c.network, tc.o), subnets.ExtractSubnets); len(got) != tc.want {
			t.Errorf("%+v: %d subnets, want %d", tc.o, len(got), tc.want)
		}
	}
	if err := c.cloud.ExhaustSubnet(places.PrivateSubnet); err != nil {
		t.Fatal(err)
	}
	_, err := loadbalancers.Create(t.Context(), c.balancer,
		loadbalancers.CreateOpts{VipSubnetID: places.PrivateSubnet}).Extract()
	wantStatus(t, err, 409, "No more IP addresses")
	_, err = ports.Create(t.Context(), c.network, ports.CreateOpts{NetworkID: places.PrivateNetwork}).Extract()
	wantStatus(t, err, 409, "IpAddressGenerationFailure")
	if gold == "" || c.cloud.Check() != nil {
		t.Error(c.cloud.Check())
	}
}

func TestDisabledExtensions(t *testing.T) {
	c := newClients(t, sim.Options{WithoutExtensions: []string{"extraroute-atomic", "allowed-address-pairs",
		"standard-attr-tag", "revision-if-match"}})
	p := all(t, ports.List(c.network, nil), ports.ExtractPorts)[0]
	_, err := ports.Update(t.Context(), c.network, p.ID,
		ports.UpdateOpts{AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.244.0.0/24"}}}).Extract()
	wantStatus(t, err, 400, "allowed_address_pairs")
	wantStatus(t, attributestags.Add(t.Context(), c.network, "ports", p.ID, "x").ExtractErr(), 404, "")
	if _, err := ports.Update(t.Context(), c.network, p.ID,
		ports.UpdateOpts{Name: ptr("x"), RevisionNumber: ptr(99)}).Extract(); err != nil {
		t.Error(err)
	}
	_, err = c.network.Put(t.Context(), c.network.ServiceURL("routers", c.cloud.Places().Router, "add_extraroutes"),
		map[string]any{}, nil, nil)
	wantStatus(t, err, 404, "")
}
