package loadbalancer

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A load balancer that is replaced for another flavor or zone keeps its address: clients of an internal one know it.
func TestReplacementKeepsTheOwnAddress(t *testing.T) {
	for name, edit := range map[string]func(*rig, *v1.Service){
		"flavor": (*rig).large, "zone": func(_ *rig, svc *v1.Service) { annotate("availability-zone", "az-2")(svc) },
	} {
		for _, ipv6 := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, sim.Options{IPv6: ipv6}, Settings{}, func(r *rig) {
					svc := service(internal)
					if ipv6 {
						svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
					}
					address := r.ensure(svc).Ingress[0].IP
					id := r.balancer().ID
					edit(r, svc)
					if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID == id {
						t.Errorf("the address is %s, was %s", got, address)
					}
					r.steady(svc)
					r.remove(svc)
					r.nothing()
				})
			})
		}
	}
}

// An address that another client takes in the meantime does not keep the next load balancer from its creation.
func TestReplacementWithoutItsAddressIsCreated(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		address := r.ensure(svc).Ingress[0].IP
		r.before("CreateLoadBalancer", func() {
			_, err := ports.Create(t.Context(), connect(t, r.front, r.sim.Account()).services[api.Network], ports.CreateOpts{
				NetworkID: r.sim.Places().PrivateNetwork, FixedIPs: []ports.IP{{IPAddress: address}},
			}).Extract()
			if err != nil {
				t.Error(err)
			}
		})
		r.large(svc)
		r.ensureError(svc, "already allocated")
		r.sleep(time.Minute)
		if got := r.ensure(svc).Ingress[0].IP; got == address {
			t.Errorf("the address is %s, which another port has", got)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// Another subnet in the configuration is for new load balancers: an edit of the flavor does not move the existing one
// there, where its floating IP may be out of reach.
func TestReplacementStaysInItsSubnet(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		lb := r.balancer()
		_, subnet, err := r.sim.AddNetwork("apart", netip.MustParsePrefix("10.9.0.0/24"), false)
		if err != nil {
			t.Fatal(err)
		}
		r.settings.SubnetID = subnet
		r.settings.MemberSubnetID = r.privateSubnet
		r.restart()
		r.ensure(svc)
		r.large(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().VipSubnetID != lb.VipSubnetID {
			t.Errorf("the address is %s, was %s, in the subnet %s", got, address, r.balancer().VipSubnetID)
		}
		r.remove(svc)
		r.nothing()
	})
}
