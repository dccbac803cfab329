package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestIPv6FirstServiceNeedsNoSubnetID(t *testing.T) {
	for _, families := range [][]v1.IPFamily{
		{v1.IPv6Protocol}, {v1.IPv6Protocol, v1.IPv4Protocol}, {v1.IPv4Protocol, v1.IPv6Protocol}, {v1.IPv4Protocol},
	} {
		t.Run(string(families[0])+string(families[len(families)-1]), func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
				r.settings.SubnetID = ""
				r.restart()
				svc := service(internal, func(s *v1.Service) { s.Spec.IPFamilies = families })
				status := r.ensure(svc)
				if len(status.Ingress) != len(families) || model.FamilyOf(status.Ingress[0].IP) != families[0] {
					t.Errorf("status %+v, want addresses of %v", status, families)
				}
				if lb := r.balancer(); model.FamilyOf(lb.VipAddress) != families[0] {
					t.Errorf("VIP %s, want %s", lb.VipAddress, families[0])
				}
				for _, m := range r.membersAt(80) {
					if model.FamilyOf(m.Address) != families[0] {
						t.Errorf("member %+v, want %s", m, families[0])
					}
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}
