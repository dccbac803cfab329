package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// An edit releases nothing but what it causes.
func TestUnrelatedEditReleasesNothing(t *testing.T) {
	pin := func(address string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }
	}
	for name, tt := range map[string]struct {
		stale, edit func(*v1.Service)
		// want are the subnet, the flavor and the address of the load balancer; empty for those that it has.
		subnet, flavor, address string
		replaced                bool
		// configured is the configured subnet of the next manager.
		configured string
	}{
		"address in the existing subnet": {stale: annotate("subnet-id", "{other-subnet}"), edit: pin("10.0.44.44"),
			address: "10.0.44.44", replaced: true},
		"address in the stale subnet":     {stale: annotate("subnet-id", "{other-subnet}"), edit: pin("10.9.0.44")},
		"address of an unknown subnet":    {stale: annotate("subnet-id", "{other-subnet}"), edit: pin("192.0.2.44")},
		"address in the existing network": {stale: annotate("network-id", "{other-network}"), edit: pin("10.0.44.44")},
		"address and a stale flavor": {stale: annotate("flavor-id", "{flavor-large}"), edit: pin("10.0.44.44"),
			address: "10.0.44.44", replaced: true},
		"flavor and a stale address": {stale: pin("10.0.44.44"), edit: annotate("flavor-id", "{flavor-large}"),
			flavor: "{flavor-large}", replaced: true},
		"flavor and a stale address, while the configuration names another subnet": {stale: pin("10.0.44.44"),
			edit: annotate("flavor-id", "{flavor-large}"), flavor: "{flavor-large}", configured: "{other-subnet}", replaced: true},
		"flavor and a stale subnet": {stale: annotate("subnet-id", "{other-subnet}"),
			edit: annotate("flavor-id", "{flavor-large}"), flavor: "{flavor-large}", replaced: true},
		"flavor and a stale port": {stale: annotate("port-id", "{port}"), edit: annotate("flavor-id", "{flavor-large}")},
		"subnet and a stale flavor": {stale: annotate("flavor-id", "{flavor-large}"),
			edit: annotate("subnet-id", "{other-subnet}"), subnet: "{other-subnet}", replaced: true},
		"subnet and a stale address": {stale: pin("10.0.44.44"), edit: annotate("subnet-id", "{other-subnet}")},
		"zone and a stale flavor": {stale: annotate("flavor-id", "{flavor-large}"), edit: annotate("availability-zone", "az-2"),
			replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				r.name()
				expand := func(svc *v1.Service) {
					for key, value := range svc.Annotations {
						svc.Annotations[key] = r.named.Expand(value)
					}
				}
				svc := service(internal)
				r.ensure(svc)
				lb := r.made()
				annotate("load-balancer-id", lb.ID)(svc)
				r.ensure(svc)
				if tt.configured != "" {
					r.settings.SubnetID = r.named.Expand(tt.configured)
				}
				r.unseen(svc, tt.stale, expand)
				tt.edit(svc)
				expand(svc)
				r.ensure(svc)
				got := r.made()
				if (got.ID != lb.ID) != tt.replaced {
					t.Errorf("replaced: %t, want %t", got.ID != lb.ID, tt.replaced)
				}
				for _, f := range []struct{ name, got, before, want string }{
					{"subnet", got.VipSubnetID, lb.VipSubnetID, tt.subnet}, {"flavor", got.FlavorID, lb.FlavorID, tt.flavor},
				} {
					if want := r.named.Expand(f.want); want == "" && f.got != f.before || want != "" && f.got != want {
						t.Errorf("%s %q, was %q, want %q", f.name, f.got, f.before, want)
					}
				}
				if tt.address != "" && got.VipAddress != tt.address {
					t.Errorf("address %s, want %s", got.VipAddress, tt.address)
				}
				annotate("load-balancer-id", got.ID)(svc)
				if fields := r.heldFields(svc); len(fields) == 0 {
					t.Error("nothing is held")
				}
				r.steady(svc)
				r.remove(svc)
				r.unname()
			})
		})
	}
}

// A certificate that is new in the configuration is for new ports: listeners that exist stay as they are.
func TestNewPortHasTLSOfConfiguration(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service()
		r.ensure(svc)
		annotate("load-balancer-id", r.made().ID)(svc)
		r.ensure(svc)
		listeners := []string{r.listener(80).ID, r.listener(443).ID}
		r.settings.TLSContainer = r.named.Expand(certificate)
		r.restart()
		r.ensure(svc)
		r.wantEvent("held")
		withPort8443(svc)
		r.front.Log().Reset()
		r.ensure(svc)
		if got := []string{r.listener(80).ID, r.listener(443).ID}; !slices.Equal(got, listeners) {
			t.Errorf("listeners %q, were %q", got, listeners)
		}
		if l := r.listener(8443); l.Protocol != api.ProtocolTerminatedHTTPS || l.DefaultTlsContainerRef != r.settings.TLSContainer {
			t.Errorf("new listener %+v", l)
		}
		if m := r.mutations(); slices.ContainsFunc(m, func(m string) bool { return strings.HasPrefix(m, "Delete") }) {
			t.Errorf("changes %q", m)
		}
		r.steady(svc)
		r.remove(svc)
		r.unname()
	})
}

// A load balancer that replaces another one has the held values of its listeners. If it cannot have them, it is held.
func TestReplacementCarriesHeldValuesOfListeners(t *testing.T) {
	for name, tt := range map[string]struct {
		before, edit func(*v1.Service)
		kept         func(*rig) bool
		held         bool
	}{
		"protocol": {edit: annotate(annotation.KeyTLSContainer, certificate),
			kept: func(r *rig) bool { return r.listener(80).Protocol == api.ProtocolTCP }},
		"protocol of the pool": {edit: annotate("proxy-protocol", "true"),
			kept: func(r *rig) bool { return r.pool(80).Protocol == api.ProtocolTCP }},
		"subnet of the members": {edit: annotate("member-subnet-id", "{other-subnet}"),
			kept: func(r *rig) bool { return r.membersAt(80)[0].SubnetID == r.privateSubnet }},
		"clients": {before: allowOnly("192.0.2.0/24", "198.51.100.0/24"), edit: allowOnly("192.0.2.0/24"),
			kept: func(r *rig) bool { return len(r.listener(80).AllowedCIDRs) == 2 }},
		"listener without a port": {edit: func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }, held: true,
			kept: func(r *rig) bool { return r.listener(443).ID != "" }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				r.name()
				expand := func(svc *v1.Service) {
					for key, value := range svc.Annotations {
						svc.Annotations[key] = r.named.Expand(value)
					}
				}
				svc := service()
				if tt.before != nil {
					tt.before(svc)
				}
				r.ensure(svc)
				lb := r.made().ID
				annotate("load-balancer-id", lb)(svc)
				r.ensure(svc)
				r.unseen(svc, tt.edit, expand)
				annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
				r.ensure(svc)
				if !tt.kept(r) || (r.made().ID == lb) != tt.held {
					t.Errorf("load balancer %+v, listener %+v", r.made(), r.listener(80))
				}
				annotate("load-balancer-id", r.made().ID)(svc)
				if fields := r.heldFields(svc); len(fields) == 0 {
					t.Error("nothing is held")
				}
				r.steady(svc)
				r.approveHeld(svc)
				r.ensure(svc)
				annotate("load-balancer-id", r.made().ID)(svc)
				if fields := r.heldFields(svc); len(fields) > 0 || r.made().FlavorID == "" {
					t.Errorf("held %q after an approval, flavor %q", fields, r.made().FlavorID)
				}
				r.remove(svc)
				r.unname()
			})
		})
	}
}

// A listener that keeps its protocol gets another pool if an edit causes that, with a protocol that goes with its own.
func TestHeldProtocolOfListenerHoldsNoPool(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service()
		r.ensure(svc)
		annotate("load-balancer-id", r.made().ID)(svc)
		r.ensure(svc)
		id := r.listener(80).ID
		r.settings.TLSContainer = r.named.Expand(certificate)
		r.restart()
		r.ensure(svc)
		want := func(protocol string) {
			t.Helper()
			r.ensure(svc)
			if l := r.listener(80); l.ID != id || l.Protocol != api.ProtocolTCP || r.pool(80).Protocol != protocol {
				t.Errorf("listener %+v, pool %+v", l, r.pool(80))
			}
			r.steady(svc)
		}
		annotate(annotation.KeyProxyProtocol, "true")(svc)
		want(api.ProtocolPROXY)
		if got := r.heldFields(svc); !slices.Equal(got, []string{"listener protocol", "listener protocol"}) {
			t.Errorf("held %q", got)
		}
		delete(svc.Annotations, annotation.KeyProxyProtocol)
		want(api.ProtocolTCP)
		r.remove(svc)
		r.unname()
	})
}

// A listener cannot change to a protocol that does not go with the pool that it keeps.
func TestHeldPoolHoldsProtocolOfListener(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service()
		r.ensure(svc)
		annotate("load-balancer-id", r.made().ID)(svc)
		r.ensure(svc)
		listener, pool := r.listener(80).ID, r.pool(80).ID
		r.unseen(svc, annotate(annotation.KeyProxyProtocol, "true"))
		annotate(annotation.KeyTLSContainer, r.named.Expand(certificate))(svc)
		r.ensure(svc)
		if l := r.listener(80); l.ID != listener || l.DefaultPoolID != pool {
			t.Errorf("listener %+v", l)
		}
		r.steady(svc)
		r.approveHeld(svc)
		r.ensure(svc)
		if l := r.listener(80); l.Protocol != api.ProtocolTerminatedHTTPS || r.pool(80).Protocol != api.ProtocolPROXY {
			t.Errorf("listener %+v", l)
		}
		r.steady(svc)
		r.remove(svc)
		r.unname()
	})
}
