package loadbalancer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// large requests another flavor, which replaces the load balancer.
func (r *rig) large(svc *v1.Service) {
	annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
}

// routedExternal creates another external network that the load balancer can be reached from.
func (r *rig) routedExternal() string {
	r.t.Helper()
	network := r.addExternal()
	if err := r.sim.AddRouter(r.sim.Places().PrivateSubnet, network); err != nil {
		r.t.Fatal(err)
	}
	return network
}

// wantAttached checks the addresses of the floating IPs that are attached to the load balancer.
func (r *rig) wantAttached(want ...string) {
	r.t.Helper()
	port := r.balancer().VipPortID
	var got []string
	for _, f := range r.fips() {
		if f.PortID == port {
			got = append(got, f.FloatingIP)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("attached %v, want %v", got, want)
	}
}

// interrupt ensures a Service with a fault, which ends the manager or only the sync, and then until that works.
func (r *rig) interrupt(svc *v1.Service, f kit.Fault) {
	r.t.Helper()
	r.restart()
	r.front.OnKill(r.restartQuietly)
	r.front.SetFaults(f)
	r.ensureError(svc)
	r.front.SetFaults()
	r.front.Revive()
	r.sleep(5 * time.Minute)
	r.until("ensure", func(ctx context.Context) error {
		status, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, svc, r.nodes)
		if err == nil {
			svc.Status.LoadBalancer = *status
		}
		return err
	})
}

// A floating IP of another external network, which a user has attached in addition, stays with the one of the Service,
// whose address the status has. Neutron lists them in any order.
func TestAdditionalFloatingIPStays(t *testing.T) {
	for i := range 4 {
		for _, exchange := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, exchange %t", i, exchange), func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					for range i {
						r.takeFIP() // They have other IDs.
					}
					svc, additional := service(), r.reserveIn(r.routedExternal())
					want := r.ensure(svc).Ingress[0].IP
					r.setPort(additional, r.balancer().VipPortID)
					r.sleep(time.Hour)
					if got := r.ensure(svc).Ingress[0].IP; got != want {
						t.Errorf("the address is %s, was %s", got, want)
					}
					if exchange {
						want = r.takeFIP().FloatingIP
						svc.Spec.LoadBalancerIP = want
						r.ensure(svc)
						r.wantAttached(want, additional.FloatingIP)
					}
					id := r.balancer().ID
					r.large(svc)
					if got := r.ensure(svc).Ingress[0].IP; got != want || r.balancer().ID == id {
						t.Errorf("the address is %s, was %s", got, want)
					}
					r.wantAttached(want, additional.FloatingIP)
					r.steady(svc)
					r.remove(svc)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}

// A floating IP that a user has attached, and that the Service does not name, serves the next load balancer too if the
// replacement is interrupted.
func TestInterruptedReplacementKeepsTheAddress(t *testing.T) {
	for _, f := range []kit.Fault{
		{Kind: kit.FaultKillAfter, Operation: "DeleteLoadBalancer"}, {Kind: kit.FaultError, Operation: "CreateLoadBalancer"},
		{Kind: kit.FaultKillAfter, Operation: "CreateLoadBalancer"}, {Kind: kit.FaultKillBefore, Operation: "UpdateFloatingIP"},
	} {
		t.Run(fmt.Sprintf("%s %s", f.Kind, f.Operation), func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				r.ensure(svc)
				r.dropFIPs()
				mine := r.takeFIP()
				r.setPort(mine, r.balancer().VipPortID)
				r.restart()
				if got := r.ensure(svc).Ingress[0].IP; got != mine.FloatingIP {
					t.Fatalf("the address is %s, want %s", got, mine.FloatingIP)
				}
				r.large(svc)
				r.interrupt(svc, f)
				r.wantAttached(mine.FloatingIP)
				r.steady(svc)
				r.remove(svc)
				r.dropFIPs()
				r.nothing()
			})
		})
	}
}

// A floating IP that another client attaches elsewhere while its successor is prepared, or while the load balancer of
// its Service is deleted, is theirs.
func TestFloatingIPMovedMeanwhileIsNotReleased(t *testing.T) {
	for owner, create := range floatingOwners {
		for name, tt := range map[string]struct {
			operation string
			change    func(*rig, *v1.Service)
		}{
			"replacement": {"CreateLoadBalancer", func(r *rig, svc *v1.Service) {
				r.large(svc)
				svc.Spec.LoadBalancerIP = r.takeFIP().FloatingIP
				r.ensure(svc)
			}},
			"deletion": {"DeleteLoadBalancer", func(r *rig, svc *v1.Service) { r.remove(svc) }},
		} {
			t.Run(name+", "+owner, func(t *testing.T) {
				bubble(t, sim.Options{}, Settings{}, func(r *rig) {
					svc, port := create(r), r.serverPort().ID
					moved := r.addressed(r.ensure(svc).Ingress[0].IP)
					r.before(tt.operation, func() { r.setPort(moved, port) })
					tt.change(r, svc)
					if got := r.addressed(moved.FloatingIP); got.PortID != port {
						t.Errorf("the floating IP is %+v, was at %s", got, port)
					}
					r.remove(svc)
					r.dropFIPs()
					r.nothing()
				})
			})
		}
	}
}

// A port that a user has created keeps its floating IP while its load balancer is replaced: the next one has that too,
// and another one that the Service requests succeeds it, also after an interruption.
func TestFloatingIPAtPortThatOutlivesLoadBalancers(t *testing.T) {
	for owner, create := range floatingOwners {
		for _, exchange := range []bool{false, true} {
			for name, f := range map[string]kit.Fault{
				"killed after the deletion": {Kind: kit.FaultKillAfter, Operation: "DeleteLoadBalancer"},
				"refused creation":          {Kind: kit.FaultError, Operation: "CreateLoadBalancer"},
				"killed after the creation": {Kind: kit.FaultKillAfter, Operation: "CreateLoadBalancer"},
				"not interrupted":           {},
			} {
				t.Run(fmt.Sprintf("%s, exchange %t, %s", owner, exchange, name), func(t *testing.T) {
					bubble(t, sim.Options{}, Settings{}, func(r *rig) {
						svc := create(r)
						annotate("port-id", r.freePort())(svc)
						want := r.ensure(svc).Ingress[0].IP
						r.large(svc)
						if exchange {
							want = r.reserveIn(r.routedExternal()).FloatingIP
							svc.Spec.LoadBalancerIP = want
						}
						if f.Kind == "" {
							r.ensure(svc)
						} else {
							r.interrupt(svc, f)
						}
						r.wantAttached(want)
						r.steady(svc)
						r.remove(svc)
						r.dropFIPs()
						r.nothing()
					})
				})
			}
		}
	}
}

// A user has attached a floating IP to the port before the load balancer is created there.
func TestFloatingIPOfPortIsUsed(t *testing.T) {
	for _, requested := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{}, func(r *rig) {
			port, mine := r.freePort(), r.takeFIP()
			r.setPort(mine, port)
			svc := service(annotate("port-id", port))
			if requested {
				svc.Spec.LoadBalancerIP = mine.FloatingIP
			}
			if got := r.ensure(svc).Ingress[0].IP; got != mine.FloatingIP {
				t.Errorf("the address is %s, want %s", got, mine.FloatingIP)
			}
			r.steady(svc)
			r.remove(svc)
			r.wantFree(mine.FloatingIP)
			r.dropFIPs()
			r.nothing()
		})
	}
}

// wantFree checks that a floating IP exists, and that no load balancer has it.
func (r *rig) wantFree(address string) {
	r.t.Helper()
	r.addressed(address)
	if n := r.sim.Objects()["load-balancers"]; n != 0 {
		r.t.Errorf("%d load balancers", n)
	}
}

// conflicts is a Neutron that refuses to attach a floating IP for another reason than that the port has one.
type conflicts struct {
	*api.Clients
	id    string
	calls *int
}

func (c conflicts) UpdateFloatingIP(ctx context.Context, id string, o floatingips.UpdateOpts) (api.FloatingIP, error) {
	*c.calls++
	if id != c.id {
		return c.Clients.UpdateFloatingIP(ctx, id, o)
	}
	return api.FloatingIP{}, oserr.Wrap(api.Network, "UpdateFloatingIP", time.Now(), gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodPut, Actual: http.StatusConflict,
		Body: []byte(`{"NeutronError": {"type": "FipInUseByPortForwarding", "message": "in use by port forwardings"}}`),
	})
}

// Only a port that has a floating IP already gets another one in its place: no other conflict takes that away.
func TestOtherConflictKeepsTheAddress(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		next, calls := r.takeFIP(), 0
		r.wrap = func(own *api.Clients) API { return conflicts{own, next.ID, &calls} }
		r.restart()
		svc.Spec.LoadBalancerIP = next.FloatingIP
		r.ensureError(svc, "port forwardings")
		if calls != 1 {
			t.Errorf("%d changes of floating IPs: the address is taken away for a moment", calls)
		}
		r.wantAttached(address)
		r.remove(svc)
		r.dropFIPs()
		r.nothing()
	})
}

// A floating IP that is attached although the reply is lost does not stay beside the one that serves again.
func TestLostReplyOfAttachment(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		next := r.reserveIn(r.routedExternal())
		svc.Spec.LoadBalancerIP = next.FloatingIP
		r.large(svc)
		r.front.SetFaults(kit.Fault{Kind: kit.FaultLostReply, Operation: "UpdateFloatingIP"})
		if got := r.ensure(svc).Ingress[0].IP; got != next.FloatingIP {
			t.Errorf("the address is %s, want %s", got, next.FloatingIP)
		}
		r.wantAttached(next.FloatingIP)
		r.steady(svc)
		r.remove(svc)
		r.dropFIPs()
		r.nothing()
	})
}
