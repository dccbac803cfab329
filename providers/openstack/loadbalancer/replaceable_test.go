package loadbalancer

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// A load balancer is not deleted for a place that Octavia would refuse to the new one.
func TestImpossiblePlaceDeletesNothing(t *testing.T) {
	const unknown = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
	for name, tt := range map[string]struct {
		edit func(*rig, *v1.Service)
		want string
	}{
		"flavor":  {func(_ *rig, s *v1.Service) { annotate("flavor-id", unknown)(s) }, annotation.KeyFlavorID},
		"zone":    {func(_ *rig, s *v1.Service) { annotate("availability-zone", "az-9")(s) }, annotation.KeyAvailabilityZone},
		"subnet":  {func(_ *rig, s *v1.Service) { annotate("subnet-id", unknown)(s) }, annotation.KeySubnetID},
		"network": {func(_ *rig, s *v1.Service) { annotate("network-id", unknown)(s) }, annotation.KeyNetworkID},
		"port":    {func(_ *rig, s *v1.Service) { annotate("port-id", unknown)(s) }, annotation.KeyPortID},
		"port of a server": {func(r *rig, s *v1.Service) {
			annotate("port-id", r.serverPort().ID)(s)
		}, annotation.KeyPortID},
		"network that is not the subnet's": {func(r *rig, s *v1.Service) {
			annotate("subnet-id", r.sim.Places().PrivateSubnet, "network-id", r.addPlace("other", "10.9.0.0/24").network)(s)
		}, annotation.KeyNetworkID},
		"unknown network with a subnet": {func(r *rig, s *v1.Service) {
			annotate("subnet-id", r.sim.Places().PrivateSubnet, "network-id", unknown)(s)
		}, annotation.KeyNetworkID},
		"unknown network with another subnet": {func(r *rig, s *v1.Service) {
			annotate("subnet-id", r.addPlace("other", "10.9.0.0/24").v4, "network-id", unknown)(s)
		}, annotation.KeySubnetID},
		"port of its own": {func(r *rig, s *v1.Service) {
			annotate("port-id", r.balancer().VipPortID, "flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(s)
		}, annotation.KeyPortID},
		"address of another port": {func(r *rig, s *v1.Service) {
			s.Spec.LoadBalancerIP = r.serverPort().FixedIPs[0].Address
		}, intent.FieldLoadBalancerIP},
		"address not of the port": {func(r *rig, s *v1.Service) {
			annotate("port-id", r.freePort())(s)
			s.Spec.LoadBalancerIP = "10.0.44.44"
		}, intent.FieldLoadBalancerIP},
		"address outside of the network": {func(r *rig, s *v1.Service) {
			annotate("network-id", r.addPlace("other", "10.9.0.0/24").network)(s)
			s.Spec.LoadBalancerIP = "192.0.2.44"
		}, intent.FieldLoadBalancerIP},
		"address of the network": {func(_ *rig, s *v1.Service) {
			s.Spec.LoadBalancerIP = "10.0.0.0"
		}, intent.FieldLoadBalancerIP},
		"broadcast address": {func(_ *rig, s *v1.Service) {
			s.Spec.LoadBalancerIP = "10.0.255.255"
		}, intent.FieldLoadBalancerIP},
		"beside a listener of another protocol": {func(_ *rig, s *v1.Service) {
			annotate("flavor-id", unknown)(s)
			s.Spec.Ports[0].Protocol = v1.ProtocolUDP
		}, annotation.KeyFlavorID},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service(internal)
				address := r.ensure(svc).Ingress[0].IP
				id := r.balancer().ID
				valid := svc.DeepCopy()
				tt.edit(r, svc)
				r.ensureError(svc, tt.want)
				if got := r.balancer(); got.ID != id || got.VipAddress != address || len(got.Listeners) != 2 {
					t.Errorf("load balancer %+v, was %s with %s", got, id, address)
				}
				r.ensure(valid)
				r.steady(valid)
				r.remove(valid)
				r.nothing()
			})
		})
	}
}

// A flavor or zone that this client may not read is left to Octavia.
func TestPlaceThatCannotBeReadIsNotRefused(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		id := r.balancer().ID
		r.sim.SetAccessRules(func(_, operation string) bool {
			return operation != "ShowLoadBalancerFlavor" && operation != "ListLoadBalancerAvailabilityZones"
		})
		annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"], "availability-zone", "az-2")(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID == id {
			t.Errorf("the address is %s, was %s; load balancer %s, was %s", got, address, r.balancer().ID, id)
		}
		r.remove(svc)
		r.nothing()
	})
}

// serverPort returns the port of a node.
func (r *rig) serverPort() api.Port {
	r.t.Helper()
	list, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server(r.nodes[0].Name)}})
	if err != nil || len(list) == 0 {
		r.t.Fatal(list, err)
	}
	return list[0]
}

// A port that a user has created outlives the load balancer, and serves its successor.
func TestReplacementKeepsThePort(t *testing.T) {
	for _, exchanged := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			svc := service(annotate("port-id", r.freePort()))
			want := r.ensure(svc).Ingress[0].IP
			id := r.balancer().ID
			annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
			if exchanged {
				want = r.takeFIP().FloatingIP
				svc.Spec.LoadBalancerIP = want
			}
			if got := r.ensure(svc).Ingress[0].IP; got != want || r.balancer().ID == id {
				t.Errorf("the address is %s, want %s; load balancer %s, was %s", got, want, r.balancer().ID, id)
			}
			r.steady(svc)
			r.remove(svc)
			r.dropFIPs()
			r.nothing()
		})
	}
}

// freePort creates a port that nothing uses.
func (r *rig) freePort() string {
	r.t.Helper()
	network := connect(r.t, r.front, r.sim.Account()).services[api.Network]
	port, err := ports.Create(r.t.Context(), network, ports.CreateOpts{NetworkID: r.sim.Places().PrivateNetwork}).Extract()
	if err != nil {
		r.t.Fatal(err)
	}
	return port.ID
}

// A load balancer that replaces another one gets its floating IP: none has to be allocated.
func TestReplacementNeedsNoNewFloatingIP(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("floating-subnet", "public-*"))
		address := r.ensure(svc).Ingress[0].IP
		id := r.balancer().ID
		r.restart()
		annotate("floating-subnet", "tier-*", "flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID == id {
			t.Errorf("the address is %s, was %s; load balancer %s, was %s", got, address, r.balancer().ID, id)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// What the new load balancer would lack is found before the existing one is deleted.
func TestReplacementThatLacksSomethingDeletesNothing(t *testing.T) {
	const container = "http://openstack.invalid/key-manager/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
	for name, edit := range map[string]func(*rig, *v1.Service) (want string){
		"certificate": func(_ *rig, s *v1.Service) string {
			annotate("default-tls-container-ref", container)(s)
			return "not in Barbican"
		},
		"floating IP": func(r *rig, s *v1.Service) string {
			annotate("floating-subnet", "tier-*")(s)
			r.dropFIPs()
			r.restart()
			return annotation.KeyFloatingSubnet
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				lb, listener := r.balancer(), r.listener(443)
				annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
				r.ensureError(svc, edit(r, svc))
				if got := r.balancer(); got.ID != lb.ID || r.listener(443).ID != listener.ID {
					t.Errorf("load balancer %+v, was %+v", got, lb)
				}
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A listener is not deleted for one with a certificate that cannot be read.
func TestUnknownCertificateKeepsListener(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		const base = "http://openstack.invalid"
		svc := service()
		r.ensure(svc)
		listener := r.listener(443)
		annotate("default-tls-container-ref",
			base+"/key-manager/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")(svc)
		r.ensureError(svc, "not in Barbican")
		if got := r.listener(443); got.ID != listener.ID || got.Protocol != listener.Protocol {
			t.Errorf("listener %+v, was %+v", got, listener)
		}
		r.sleep(time.Minute)
		annotate("default-tls-container-ref", r.sim.AddSecret(base, "web", true))(svc)
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
