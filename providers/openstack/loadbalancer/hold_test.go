package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// unseen edits a Service so that the next manager takes the edit for a difference without a cause.
func (r *rig) unseen(svc *v1.Service, edits ...func(*v1.Service)) {
	r.t.Helper()
	for _, edit := range edits {
		edit(svc)
	}
	svc.Status.Conditions = nil
	r.restart()
	r.ensure(svc)
}

// heldFields returns the held differences of a Service, without the objects, and fails the test if its plan has changes.
func (r *rig) heldFields(svc *v1.Service) []string {
	r.t.Helper()
	todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil || len(todo.Changes) > 0 {
		r.t.Errorf("changes %s, error %v", plan.Summary(todo), err)
	}
	var fields []string
	for _, h := range todo.Held {
		for _, d := range h.Differences() {
			fields = append(fields, strings.TrimSpace(d.Kind+" "+d.Field))
		}
	}
	return fields
}

// withPort8443 adds the port 8443 to a Service.
func withPort8443(svc *v1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: 8443, NodePort: 30843})
}

func allowOnly(cidrs ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = cidrs }
}

// held is a difference that is held.
type held struct {
	name     string
	settings Settings
	before   []func(*v1.Service)
	// edit is not seen by a manager. Values may have names of rig.name.
	edit []func(*v1.Service)
	// want are the fields that are held.
	want []string
	// applied reports whether the edit is applied.
	applied func(*rig) bool
}

func heldDifferences() []held {
	is := func(field func(*rig) string, value string) func(*rig) bool {
		return func(r *rig) bool { return field(r) == r.named.Expand(value) }
	}
	protocol := func(r *rig) string { return r.listener(80).Protocol }
	poolProtocol := func(r *rig) string { return r.pool(80).Protocol }
	return []held{
		{name: "listener with TLS", edit: []func(*v1.Service){annotate(annotation.KeyTLSContainer, certificate)},
			want:    []string{"listener protocol", "listener pool protocol", "listener protocol", "listener pool protocol"},
			applied: is(protocol, api.ProtocolTerminatedHTTPS)},
		{name: "listener without TLS", before: []func(*v1.Service){annotate(annotation.KeyTLSContainer, certificate)},
			edit:    []func(*v1.Service){annotate(annotation.KeyTLSContainer, "")},
			want:    []string{"listener protocol", "listener pool protocol", "listener protocol", "listener pool protocol"},
			applied: is(protocol, api.ProtocolTCP)},
		{name: "listener with headers", edit: []func(*v1.Service){annotate("x-forwarded-for", "true")},
			want:    []string{"listener protocol", "listener pool protocol", "listener protocol", "listener pool protocol"},
			applied: is(protocol, api.ProtocolHTTP)},
		{name: "pool with PROXY", edit: []func(*v1.Service){annotate("proxy-protocol", "true")},
			want: []string{"listener pool protocol", "listener pool protocol"}, applied: is(poolProtocol, api.ProtocolPROXY)},
		{name: "subnet of members", edit: []func(*v1.Service){annotate("member-subnet-id", "{other-subnet}")},
			want:    []string{"listener member subnet_id", "listener member subnet_id"},
			applied: is(func(r *rig) string { return r.membersAt(80)[0].SubnetID }, "{other-subnet}")},
		{name: "deleted listener", edit: []func(*v1.Service){func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] }},
			want: []string{"listener"}, applied: func(r *rig) bool { return r.sim.Objects()["listeners"] == 2 }},
		{name: "fewer clients", before: []func(*v1.Service){allowOnly("192.0.2.0/24", "198.51.100.0/24")},
			edit:    []func(*v1.Service){allowOnly("192.0.2.0/24")},
			want:    []string{"listener allowed_cidrs 198.51.100.0/24", "listener allowed_cidrs 198.51.100.0/24"},
			applied: is(func(r *rig) string { return plan.ShowSet(r.listener(80).AllowedCIDRs) }, "192.0.2.0/24")},
		{name: "not all clients", edit: []func(*v1.Service){allowOnly("192.0.2.0/24")},
			want:    []string{"listener allowed_cidrs 0.0.0.0/0", "listener allowed_cidrs 0.0.0.0/0"},
			applied: is(func(r *rig) string { return plan.ShowSet(r.listener(80).AllowedCIDRs) }, "192.0.2.0/24")},
		{name: "subnet", before: []func(*v1.Service){internal}, edit: []func(*v1.Service){annotate("subnet-id", "{other-subnet}")},
			want:    []string{"load balancer vip_subnet_id"},
			applied: is(func(r *rig) string { return r.made().VipSubnetID }, "{other-subnet}")},
		{name: "network", before: []func(*v1.Service){internal}, edit: []func(*v1.Service){annotate("network-id", "{other-network}")},
			want:    []string{"load balancer vip_network_id"},
			applied: is(func(r *rig) string { return r.made().VipNetworkID }, "{other-network}")},
		{name: "port", before: []func(*v1.Service){internal}, edit: []func(*v1.Service){annotate("port-id", "{port}")},
			want: []string{"load balancer vip_port_id"}, applied: is(func(r *rig) string { return r.made().VipPortID }, "{port}")},
		{name: "address", before: []func(*v1.Service){internal},
			edit: []func(*v1.Service){func(s *v1.Service) { s.Spec.LoadBalancerIP = "10.0.44.44" }},
			want: []string{"load balancer vip_address"}, applied: is(func(r *rig) string { return r.made().VipAddress }, "{vip}")},
		{name: "flavor", edit: []func(*v1.Service){annotate("flavor-id", "{flavor-large}")},
			want: []string{"load balancer flavor_id"}, applied: is(func(r *rig) string { return r.made().FlavorID }, "{flavor-large}")},
		{name: "availability zone", edit: []func(*v1.Service){annotate("availability-zone", "az-2")},
			want: []string{"load balancer availability_zone"}, applied: is(func(r *rig) string { return r.made().AvailabilityZone }, "az-2")},
		{name: "no floating IP", edit: []func(*v1.Service){internal}, want: []string{"floating IP floating_ip_address"},
			applied: func(r *rig) bool { return r.addressOf(r.made()) == r.made().VipAddress }},
		{name: "another floating IP", edit: []func(*v1.Service){func(s *v1.Service) { s.Spec.LoadBalancerIP = "{address}" }},
			want:    []string{"floating IP floating_ip_address"},
			applied: is(func(r *rig) string { return r.addressOf(r.made()) }, "{address}")},
		{name: "rule of the security group", settings: Settings{ManageSecurityGroups: true},
			before: []func(*v1.Service){allowOnly("192.0.2.0/24")},
			edit: []func(*v1.Service){allowOnly("192.0.2.0/24", "198.51.100.0/24"),
				func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 }},
			want: []string{"security group rules rule IPv4 tcp 30080-30080 from 10.0.0.0/16"},
			applied: func(r *rig) bool {
				return !slices.Contains(r.ingressRules(), "IPv4 tcp 30080-30080 from 10.0.0.0/16")
			}},
		{name: "deleted listener behind a security group", settings: Settings{ManageSecurityGroups: true},
			edit: []func(*v1.Service){func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[1:] }},
			want: []string{"listener", "security group rules rule IPv4 tcp 30080-30080 from 10.0.0.0/16"},
			applied: func(r *rig) bool {
				return !slices.Contains(r.ingressRules(), "IPv4 tcp 30080-30080 from 10.0.0.0/16")
			}},
	}
}

// What is held keeps its existing values, and everything else is applied: other settings, new ports, and members. The
// next plan has no changes, and an approval applies what is held.
func TestHeldDifferenceKeepsExistingValue(t *testing.T) {
	for _, tt := range heldDifferences() {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, tt.settings, func(r *rig) {
				r.name()
				expand := func(svc *v1.Service) {
					for key, value := range svc.Annotations {
						svc.Annotations[key] = r.named.Expand(value)
					}
					svc.Spec.LoadBalancerIP = r.named.Expand(svc.Spec.LoadBalancerIP)
				}
				svc := service(append(tt.before, expand)...)
				r.ensure(svc)
				annotate("load-balancer-id", r.made().ID)(svc)
				r.ensure(svc)
				lb, listener, pool, address := r.made().ID, r.listener(80), r.pool(80), r.addressOf(r.made())
				r.unseen(svc, append(tt.edit, expand)...)
				withPort8443(svc)
				annotate("timeout-client-data", "60000", annotation.KeyMonitor, "true")(svc)
				hasRanges := strings.Contains(strings.Join(tt.want, ""), "allowed_cidrs")
				if !hasRanges {
					allowOnly("10.0.0.0/8")(svc)
				}
				r.launch("joins")
				r.ensure(svc)
				r.wantKept(lb, listener, pool, address)
				if tt.applied(r) {
					t.Error("what is held is applied")
				}
				l := r.listener(443)
				if l.TimeoutClientData != 60000 || !hasRanges && plan.ShowSet(l.AllowedCIDRs) != "10.0.0.0/8" {
					t.Errorf("listener %+v", l)
				}
				if m := r.membersAt(8443); r.monitor(443) == nil || len(m) != 4 {
					t.Errorf("monitor %v, members %+v at the new port", r.monitor(443), m)
				}
				if got := r.heldFields(svc); !slices.Equal(got, tt.want) {
					t.Errorf("held %q, want %q", got, tt.want)
				}
				r.steady(svc)
				r.approveHeld(svc)
				r.ensure(svc)
				if !tt.applied(r) {
					t.Error("what is approved is not applied")
				}
				annotate("load-balancer-id", r.made().ID)(svc)
				r.steady(svc)
				r.remove(svc)
				r.unname()
			})
		})
	}
}

// wantKept fails the test unless a load balancer, the listener of port 80 and its pool are those that existed.
func (r *rig) wantKept(lb string, listener api.Listener, pool api.Pool, address string) {
	r.t.Helper()
	if got := r.made(); got.ID != lb || r.addressOf(got) != address {
		r.t.Errorf("load balancer %s at %s, was %s at %s", got.ID, r.addressOf(got), lb, address)
	}
	if got := r.listener(80); got.ID != listener.ID || got.DefaultTlsContainerRef != listener.DefaultTlsContainerRef {
		r.t.Errorf("listener %+v, was %+v", got, listener)
	}
	if got := r.pool(80); got.ID != pool.ID || got.Protocol != pool.Protocol {
		r.t.Errorf("pool %+v, was %+v", got, pool)
	}
	if n := len(r.membersAt(80)); n != 4 {
		r.t.Errorf("%d members, want 4", n)
	}
}

// A floating IP that is to be released stays at a load balancer that replaces another.
func TestHeldFloatingIPStaysWhenLoadBalancerIsReplaced(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		r.unseen(svc, internal)
		lb := r.balancer().ID
		annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(svc)
		if got := r.ensure(svc).Ingress[0].IP; got != address || r.balancer().ID == lb {
			t.Errorf("the address is %s, was %s", got, address)
		}
		if got := r.heldFields(svc); !slices.Equal(got, []string{"floating IP floating_ip_address"}) {
			t.Errorf("held %q", got)
		}
		r.steady(svc)
		r.approveHeld(svc)
		r.ensure(svc)
		if list := r.fips(); len(list) > 0 {
			t.Errorf("floating IPs %+v", list)
		}
		r.remove(svc)
		r.nothing()
	})
}

// The first health monitor of a guest is held, and everything else is applied.
func TestHeldMonitorOfGuest(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", r.balancer().ID))
		r.ensure(guest)
		r.unseen(guest, local)
		if m := r.membersAt(8080); m[0].MonitorPort != 0 {
			t.Errorf("members %+v", m)
		}
		annotate("timeout-client-data", "60000")(guest)
		r.launch("joins")
		r.ensure(guest)
		if m := r.monitor(8080); m != nil || r.listener(8080).TimeoutClientData != 60000 || len(r.membersAt(8080)) != 4 {
			t.Errorf("monitor %+v, listener %+v, members %+v", m, r.listener(8080), r.membersAt(8080))
		}
		if got := r.heldFields(guest); !slices.Equal(got, []string{"health monitor type"}) {
			t.Errorf("held %q", got)
		}
		r.steady(guest)
		r.approveHeld(guest)
		r.ensure(guest)
		if r.monitor(8080) == nil {
			t.Error("no monitor after the approval")
		}
		r.remove(guest)
		r.remove(owner)
		r.nothing()
	})
}

// Clients are added to a listener, and a new rule to a security group, while others that are not wanted stay.
func TestHeldItemOfSetHoldsNoOther(t *testing.T) {
	const first, second, third = "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service(allowOnly(first, second))
		r.ensure(svc)
		r.unseen(svc, allowOnly(first), func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 })
		allowOnly(third)(svc)
		svc.Spec.Ports[1].NodePort = 31443
		r.ensure(svc)
		if got := plan.ShowSet(r.listener(80).AllowedCIDRs); got != second+", "+third {
			t.Errorf("allowed %s", got)
		}
		want := []string{"IPv4 tcp 30080-30080 from 10.0.0.0/16", "IPv4 tcp 31080-31080 from 10.0.0.0/16",
			"IPv4 tcp 31443-31443 from 10.0.0.0/16"}
		if got := slices.Sorted(slices.Values(r.ingressRules())); !slices.Equal(got, want) {
			t.Errorf("rules %q, want %q", got, want)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// The edit of a setting that is kept together with one that is held needs no approval of its own.
func TestEditThatCannotBeAppliedStaysCause(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service(internal)
		r.ensure(svc)
		annotate("load-balancer-id", r.made().ID)(svc)
		r.ensure(svc)
		r.unseen(svc, annotate("subnet-id", r.named.Expand("{other-subnet}")))
		r.approveHeld(svc)
		approval := svc.Annotations[intent.KeyApprove]
		delete(svc.Annotations, intent.KeyApprove)
		svc.Spec.LoadBalancerIP = "10.9.0.44"
		r.ensure(svc)
		r.restart()
		r.ensure(svc)
		if got := r.made().VipAddress; got == "10.9.0.44" {
			t.Errorf("address %s", got)
		}
		svc.Annotations[intent.KeyApprove] = approval
		r.ensure(svc)
		if got := r.made().VipAddress; got != "10.9.0.44" {
			t.Errorf("address %s after the approval of the subnet", got)
		}
		annotate("load-balancer-id", r.made().ID)(svc)
		r.steady(svc)
		r.remove(svc)
		r.unname()
	})
}

// An address that is in use elsewhere is applied once it is free: the edit has had no effect until then.
func TestFloatingIPThatBecomesFreeIsExchanged(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.name()
		svc := service()
		before := r.ensure(svc).Ingress[0].IP
		annotate("load-balancer-id", r.made().ID)(svc)
		svc.Spec.LoadBalancerIP = r.named.Expand("{address-in-use}")
		for range 2 {
			if got := r.ensure(svc).Ingress[0].IP; got != before {
				t.Errorf("the address is %s, was %s", got, before)
			}
			r.restart()
		}
		_, err := r.api.UpdateFloatingIP(t.Context(), r.named.Expand("{floating-IP-in-use}"), floatingips.UpdateOpts{PortID: ptr.To("")})
		if err != nil {
			t.Fatal(err)
		}
		r.restart()
		if got := r.ensure(svc).Ingress[0].IP; got != svc.Spec.LoadBalancerIP {
			t.Errorf("the address is %s, want %s", got, svc.Spec.LoadBalancerIP)
		}
		r.steady(svc)
		r.remove(svc)
		r.unname()
	})
}

// The place of a shared load balancer is not changed, and not once it is not shared any more either.
func TestPlaceOfSharedLoadBalancerIsHeldWhenGuestsLeave(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := service()
		r.ensure(owner)
		lb := r.balancer().ID
		guest := service(named("guest"), onPorts(8080), annotate("load-balancer-id", lb))
		r.ensure(guest)
		annotate("flavor-id", r.sim.Places().LoadBalancerFlavors["large"])(owner)
		r.ensure(owner)
		r.wantEvent("it is not replaced, because other Services share the load balancer")
		r.remove(guest)
		r.ensure(owner)
		if got := r.balancer().ID; got != lb {
			t.Errorf("load balancer %s, was %s", got, lb)
		}
		if got := r.heldFields(owner); !slices.Equal(got, []string{"load balancer flavor_id"}) {
			t.Errorf("held %q", got)
		}
		r.approveHeld(owner)
		r.ensure(owner)
		if got := r.balancer(); got.ID == lb || got.FlavorID == "" {
			t.Errorf("load balancer %+v after the approval", got)
		}
		r.remove(owner)
		r.nothing()
	})
}

func TestKeepRanges(t *testing.T) {
	for name, tt := range map[string]struct{ have, want, kept, keeps []string }{
		"all clients":         {want: []string{"10.0.0.0/8"}, kept: []string{"0.0.0.0/0"}},
		"one of two":          {have: []string{"10.0.0.0/8", "172.16.0.0/12"}, want: []string{"10.0.0.0/8"}, kept: []string{"172.16.0.0/12"}, keeps: []string{"172.16.0.0/12", "10.0.0.0/8"}},
		"a new one inside":    {have: []string{"10.0.0.0/8"}, want: []string{"10.1.0.0/16"}, kept: []string{"10.0.0.0/8"}, keeps: []string{"10.0.0.0/8"}},
		"an existing one":     {have: []string{"10.0.0.0/8", "10.1.0.0/16"}, want: []string{"10.1.0.0/16"}, kept: []string{"10.0.0.0/8"}, keeps: []string{"10.0.0.0/8", "10.1.0.0/16"}},
		"a further new range": {have: []string{"10.0.0.0/8"}, want: []string{"192.0.2.0/24"}, kept: []string{"10.0.0.0/8"}, keeps: []string{"10.0.0.0/8", "192.0.2.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := model.KeepRanges(tt.have, tt.want, tt.kept); !slices.Equal(got, tt.keeps) {
				t.Errorf("ranges %q, want %q", got, tt.keeps)
			}
		})
	}
}
