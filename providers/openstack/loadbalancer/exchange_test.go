package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
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
				network := r.addExternal()
				before := svc.DeepCopy()
				request(r, network, svc)
				for range 2 {
					r.front.Log().Reset()
					r.ensureError(svc, "not reachable from subnet")
					if n := r.front.Log().Count()["UpdateFloatingIP"]; n != 1 {
						t.Errorf("%d changes of floating IPs for a refused one: the address is taken away for a moment", n)
					}
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

// addExternal creates an external network, without a router to the load balancer's subnet.
func (r *rig) addExternal() string {
	r.t.Helper()
	network, _, err := r.sim.AddNetwork("public-2", netip.MustParsePrefix("192.0.2.0/28"), true)
	if err != nil {
		r.t.Fatal(err)
	}
	return network
}

// setPort attaches a floating IP as a person does, or detaches it.
func (r *rig) setPort(f api.FloatingIP, port string) {
	r.t.Helper()
	if _, err := r.api.UpdateFloatingIP(r.t.Context(), f.ID, floatingips.UpdateOpts{PortID: &port}); err != nil {
		r.t.Fatal(err)
	}
}

// addressed returns the floating IP with an address.
func (r *rig) addressed(address string) api.FloatingIP {
	r.t.Helper()
	list := r.fips()
	i := slices.IndexFunc(list, hasAddress(address))
	if i < 0 {
		r.t.Fatalf("no floating IP has the address %s: %+v", address, list)
	}
	return list[i]
}

// floatingOwners are Services with floating IPs of each kind.
var floatingOwners = map[string]func(*rig) *v1.Service{
	"allocated": func(*rig) *v1.Service { return service() },
	"kept":      func(*rig) *v1.Service { return service(annotate("keep-floatingip", "true")) },
	"a user's": func(r *rig) *v1.Service {
		return service(func(s *v1.Service) { s.Spec.LoadBalancerIP = r.takeFIP().FloatingIP })
	},
}

// The floating IP that served last serves again, whatever else is changed, while the one that the Service requests is
// refused.
func TestRefusedSuccessorKeepsWhatServed(t *testing.T) {
	const forbidden = "172.24.4.77"
	interrupt := func(r *rig, address string) { r.setPort(r.addressed(address), "") }
	for name, edit := range map[string]func(r *rig, s *v1.Service, address string) (text string){
		"with another flavor": func(r *rig, s *v1.Service, _ string) string {
			annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(s)
			s.Spec.LoadBalancerIP = forbidden
			return "policy"
		},
		"for a deleted load balancer": func(r *rig, s *v1.Service, _ string) string {
			if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
				r.t.Fatal(err)
			}
			s.Spec.LoadBalancerIP = forbidden
			return "policy"
		},
		"after an interruption, new": func(r *rig, s *v1.Service, address string) string {
			interrupt(r, address)
			s.Spec.LoadBalancerIP = forbidden
			return "policy"
		},
		"after an interruption, out of reach": func(r *rig, s *v1.Service, address string) string {
			s.Spec.LoadBalancerIP = r.reserveIn(r.addExternal()).FloatingIP
			interrupt(r, address)
			return "not reachable from subnet"
		},
		"after an interruption, in use": func(r *rig, s *v1.Service, address string) string {
			taken := r.takeFIP()
			r.setPort(taken, r.serverPort().ID)
			s.Spec.LoadBalancerIP = taken.FloatingIP
			interrupt(r, address)
			return ""
		},
	} {
		for owner, create := range floatingOwners {
			t.Run(name+", "+owner, func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					svc := create(r)
					address := r.ensure(svc).Ingress[0].IP
					before := svc.Spec.LoadBalancerIP
					text := edit(r, svc, address)
					r.restart()
					for range 2 {
						if text == "" {
							r.ensure(svc)
						} else {
							r.ensureError(svc, text)
						}
						if got := r.attached(); got != address {
							t.Errorf("the floating IP is %q, was %s", got, address)
						}
						r.sleep(time.Minute)
					}
					svc.Spec.LoadBalancerIP = before
					if got := r.ensure(svc).Ingress[0].IP; got != address {
						t.Errorf("the address is %s, was %s", got, address)
					}
					r.steady(svc)
					r.remove(svc)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}

// An exchange in one external network detaches the one address and attaches the other: each interruption gives the first
// one back, or ends with the second one.
func TestInterruptedExchangeHasAnAddress(t *testing.T) {
	const detach, attach, back = 2, 3, 4
	for name, tt := range map[string]struct {
		faults []kit.Fault
		// none is set if no address is left until the next sync.
		none bool
	}{
		"refused detachment":      {faults: []kit.Fault{{Kind: kit.FaultError, Call: detach}}},
		"detachment, lost reply":  {faults: []kit.Fault{{Kind: kit.FaultLostReply, Call: detach}}},
		"refused attachment":      {faults: []kit.Fault{{Kind: kit.FaultError, Call: attach}}},
		"refused attachments":     {faults: []kit.Fault{{Kind: kit.FaultError, Call: attach}, {Kind: kit.FaultError, Call: back}}, none: true},
		"detachment, no way back": {faults: []kit.Fault{{Kind: kit.FaultLostReply, Call: detach}, {Kind: kit.FaultError, Call: attach}}, none: true},
	} {
		for owner, create := range floatingOwners {
			t.Run(name+", "+owner, func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					svc := create(r)
					address := r.ensure(svc).Ingress[0].IP
					next := r.takeFIP()
					svc.Spec.LoadBalancerIP = next.FloatingIP
					r.restart()
					for i := range tt.faults {
						tt.faults[i].Operation = "UpdateFloatingIP"
					}
					r.front.SetFaults(tt.faults...)
					r.ensureError(svc)
					r.front.SetFaults()
					if got := r.attached(); got != address && (got != "" || !tt.none) {
						t.Errorf("the floating IP is %q, was %s", got, address)
					}
					r.addressed(address)
					r.sleep(time.Minute)
					if got := r.ensure(svc).Ingress[0].IP; got != next.FloatingIP || r.attached() != got {
						t.Errorf("the address is %s, and the floating IP %s, want %s", got, r.attached(), next.FloatingIP)
					}
					if left := slices.ContainsFunc(r.fips(), hasAddress(address)); left != (owner != "allocated") {
						t.Errorf("the floating IP that was %s exists: %t", owner, left)
					}
					r.steady(svc)
					r.remove(svc)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}

// Neutron attaches one floating IP of each external network: one of another network is attached before the first one is
// detached, also after an interruption.
func TestFloatingIPOfAnotherNetworkIsAttachedFirst(t *testing.T) {
	for owner, create := range floatingOwners {
		for _, interrupted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, interrupted %t", owner, interrupted), func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					svc := create(r)
					address := r.ensure(svc).Ingress[0].IP
					network := r.addExternal()
					if err := r.sim.AddRouter(r.sim.Places().PrivateSubnet, network); err != nil {
						t.Fatal(err)
					}
					next := r.reserveIn(network)
					svc.Spec.LoadBalancerIP = next.FloatingIP
					r.restart()
					if interrupted {
						r.front.SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "UpdateFloatingIP", Call: 2},
							kit.Fault{Kind: kit.FaultError, Operation: "DeleteFloatingIP"})
						r.ensureError(svc)
						r.front.SetFaults()
						if port := r.balancer().VipPortID; r.addressed(address).PortID != port || r.addressed(next.FloatingIP).PortID != port {
							t.Errorf("floating IPs %+v, want both at %s", r.fips(), port)
						}
						status, _, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, svc)
						if err != nil || status.Ingress[0].IP != next.FloatingIP {
							t.Errorf("status %+v, %v, want the address %s", status, err, next.FloatingIP)
						}
					}
					if got := r.ensure(svc).Ingress[0].IP; got != next.FloatingIP {
						t.Errorf("the address is %s, want %s", got, next.FloatingIP)
					}
					for _, f := range r.fips() {
						if f.FloatingIP == address && (owner == "allocated" || f.PortID != "") {
							t.Errorf("the floating IP that was %s is %+v", owner, f)
						}
					}
					r.steady(svc)
					r.remove(svc)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
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

// borrowed attaches a floating IP to another port as a person does, before the manager's next change of one fails.
type borrowed struct {
	*api.Clients
	// calls are those until then.
	calls  *int
	borrow func()
}

func (c borrowed) UpdateFloatingIP(ctx context.Context, id string, o floatingips.UpdateOpts) (api.FloatingIP, error) {
	if *c.calls--; *c.calls == 0 {
		c.borrow()
		return api.FloatingIP{}, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "UpdateFloatingIP",
			Err: errors.New("no answer")}
	}
	return c.Clients.UpdateFloatingIP(ctx, id, o)
}

// A floating IP that a person attaches to a machine in the middle of an exchange stays there when that fails.
func TestFailedExchangeTakesNothingBackFromOthers(t *testing.T) {
	for owner, create := range floatingOwners {
		t.Run(owner, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := create(r)
				address := r.ensure(svc).Ingress[0].IP
				svc.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
				port, calls := r.serverPort().ID, 3
				r.wrap = func(own *api.Clients) API {
					return borrowed{own, &calls, func() { r.setPort(r.addressed(address), port) }}
				}
				r.restart()
				r.ensureError(svc, "no answer")
				if got := r.addressed(address).PortID; got != port {
					t.Errorf("the floating IP is at %q, want the machine's port %s", got, port)
				}
				r.ensure(svc)
				if got := r.addressed(address).PortID; got != port {
					t.Errorf("the floating IP is at %q, want the machine's port %s", got, port)
				}
				r.remove(svc)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// A floating IP of which Neutron forwards single ports is in use, although it is attached to no port. Neutron says so
// only once nothing else is attached: the one that serves is not detached for it.
func TestFloatingIPWithPortForwardingsIsInUse(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		taken := r.takeFIP().FloatingIP
		r.sim.ForwardPorts(taken, true)
		svc.Spec.LoadBalancerIP = taken
		for range 2 {
			r.restart()
			if got := r.ensure(svc).Ingress[0].IP; got != address {
				t.Errorf("the address is %s, was %s", got, address)
			}
			r.wantEvent("forwards ports")
			if n := r.front.Log().Count()["UpdateFloatingIP"]; n != 0 {
				t.Errorf("%d changes of floating IPs for a refused one", n)
			}
		}
		other := service(named("other"), func(s *v1.Service) { s.Spec.LoadBalancerIP = taken })
		r.ensureError(other, "forwards ports")
		r.sim.ForwardPorts(taken, false)
		r.restart()
		if got := r.ensure(svc).Ingress[0].IP; got != taken {
			t.Errorf("the address is %s, want %s", got, taken)
		}
		r.remove(svc)
		r.dropFIPs()
		r.nothing()
	})
}

// A Service gets another floating IP than the one that it had kept, if that forwards ports meanwhile, and keeps both.
func TestKeptFloatingIPWithPortForwardings(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(annotate("keep-floatingip", "true"))
		kept := r.ensure(svc).Ingress[0].IP
		r.remove(svc)
		r.sim.ForwardPorts(kept, true)
		r.restart()
		svc = service()
		if got := r.ensure(svc).Ingress[0].IP; got == kept {
			t.Errorf("the address is %s, which forwards ports", got)
		}
		r.steady(svc)
		r.remove(svc)
		r.addressed(kept)
		r.sim.ForwardPorts(kept, false)
		r.dropFIPs()
		r.nothing()
	})
}
