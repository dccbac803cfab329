package loadbalancer

import (
	"context"
	"net/netip"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// nextAddress lets a user name the address that Neutron would choose, as those of some clouds may do.
type nextAddress struct{ *api.Clients }

func (c nextAddress) CreateFloatingIP(ctx context.Context, o floatingips.CreateOpts) (api.FloatingIP, error) {
	o.FloatingIP = ""
	return c.Clients.CreateFloatingIP(ctx, o)
}

// A floating IP that Neutron refuses to attach does not cost the working one: no router connects its network with the
// load balancer's subnet.
func TestRefusedFloatingIPKeepsTheAddress(t *testing.T) {
	for name, request := range map[string]func(r *rig, network string, s *v1.Service){
		"reserved": func(r *rig, network string, s *v1.Service) {
			s.Spec.LoadBalancerIP = r.reserveIn(network).FloatingIP
		},
		"new": func(r *rig, network string, s *v1.Service) {
			r.wrap = func(own *api.Clients) API { return nextAddress{own} }
			r.restart()
			annotate("floating-network-id", network)(s)
			next := r.reserveIn(network)
			s.Spec.LoadBalancerIP = next.FloatingIP
			if err := r.api.DeleteFloatingIP(r.t.Context(), next.ID); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				address := r.ensure(svc).Ingress[0].IP
				network, _, err := r.sim.AddNetwork("public-2", netip.MustParsePrefix("192.0.2.0/28"), true)
				if err != nil {
					r.t.Fatal(err)
				}
				before := svc.DeepCopy()
				request(r, network, svc)
				for range 2 {
					r.ensureError(svc, "not reachable from subnet")
					if got := r.attached(); got != address {
						t.Errorf("the floating IP is %q, was %s", got, address)
					}
				}
				if got := r.ensure(before).Ingress[0].IP; got != address {
					t.Errorf("the address is %s, was %s", got, address)
				}
				r.steady(before)
				r.remove(before)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// reserveIn creates a floating IP in a network.
func (r *rig) reserveIn(network string) api.FloatingIP {
	r.t.Helper()
	f, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{FloatingNetworkID: network})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}
