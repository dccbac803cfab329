package loadbalancer

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// Neutron attaches a floating IP to a port with several IPv4 addresses only for a named one: that of the load balancer.
func TestFloatingIPOfPortWithSeveralAddresses(t *testing.T) {
	for name, tt := range map[string]struct {
		named, replaced bool
	}{
		"allocated":            {},
		"named":                {named: true},
		"after a replacement":  {replaced: true},
		"named, a replacement": {named: true, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				if tt.named {
					svc.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
				}
				if tt.replaced {
					r.ensure(svc)
				}
				annotate("port-id", r.portWithAddresses("10.0.44.1", "10.0.44.2"))(svc)
				address := r.ensure(svc).Ingress[0].IP
				lb, f := r.balancer(), r.addressed(address)
				if f.PortID != lb.VipPortID || f.FixedIP != lb.VipAddress {
					t.Errorf("floating IP %+v, want it at %s of %s", f, lb.VipAddress, lb.VipPortID)
				}
				svc.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
				r.restart()
				if got := r.ensure(svc).Ingress[0].IP; got != svc.Spec.LoadBalancerIP {
					t.Errorf("the address is %s, want %s", got, svc.Spec.LoadBalancerIP)
				}
				r.steady(svc)
				r.remove(svc)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// portWithAddresses creates a port of the private subnet.
func (r *rig) portWithAddresses(addresses ...string) string {
	r.t.Helper()
	var fixed []ports.IP
	for _, address := range addresses {
		fixed = append(fixed, ports.IP{SubnetID: r.sim.Places().PrivateSubnet, IPAddress: address})
	}
	network := connect(r.t, r.front, r.sim.Account()).services[api.Network]
	port, err := ports.Create(r.t.Context(), network,
		ports.CreateOpts{NetworkID: r.sim.Places().PrivateNetwork, FixedIPs: fixed}).Extract()
	if err != nil {
		r.t.Fatal(err)
	}
	return port.ID
}

// The OVN provider names the port that it has created as it likes, and deletes it with the load balancer.
func TestLoadBalancerIsNotReplacedAtPortOfOVN(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		port := r.freePort()
		svc := service(annotate("port-id", port))
		r.ensure(svc)
		id := r.balancer().ID
		name := "ovn-lb-vip-" + id
		if _, err := r.api.UpdatePort(r.t.Context(), port, api.PortUpdate{Name: &name}); err != nil {
			t.Fatal(err)
		}
		valid := svc.DeepCopy()
		r.large(svc)
		r.ensureError(svc, "deletes it with that")
		if got := r.balancer().ID; got != id {
			t.Errorf("load balancer %s, was %s", got, id)
		}
		r.remove(valid)
		r.nothing()
	})
}
