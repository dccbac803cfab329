package loadbalancer

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// movedNodes is an API in which the ports of some servers are in another subnet.
type movedNodes struct {
	*api.Clients
	subnets map[string]string
}

func (m movedNodes) ListPorts(ctx context.Context, filter api.PortFilter) ([]api.Port, error) {
	list, err := m.Clients.ListPorts(ctx, filter)
	for i := range list {
		if subnet, ok := m.subnets[list[i].DeviceID]; ok {
			for j := range list[i].FixedIPs {
				list[i].FixedIPs[j].SubnetID = subnet
			}
		}
	}
	return list, err
}

// takeOver makes what the other manager leaves for a Service, and starts this manager. No load balancer, listener,
// pool or floating IP may be deleted or created.
func takeOver(t *testing.T, o sim.Options, svc *v1.Service, test func(r *rig, lb api.LoadBalancer)) {
	t.Helper()
	bubble(t, o, Settings{}, func(r *rig) {
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.restart()
		test(r, lb)
	})
}

// Many Services: the first sync of a manager, and that of the next one, read each kind of object once and the members
// of each pool, and write nothing, neither to the cloud nor to the Services. A node that joins or leaves changes
// members only.
func TestTakeOverOfManyServicesWritesNothing(t *testing.T) {
	bubble(t, sim.Options{Latency: latency}, Settings{}, func(r *rig) {
		const kinds, services = 10, 50
		list := fleet(services)
		for _, svc := range list {
			lb := legacy{r: r, svc: svc}.balancer()
			annotate("load-balancer-id", lb.ID, "load-balancer-address", r.addressOf(lb))(svc)
		}
		before := r.records(true)
		r.annotates = true
		for range 2 {
			r.restart()
			together(list, func(svc *v1.Service) { r.ensure(svc) })
			r.wantCalls("the first sync", kinds+2*services)
			if m := r.mutations(); len(m) > 0 {
				t.Errorf("changes %v", m)
			}
		}
		for _, svc := range list {
			if len(svc.Annotations) != 2 {
				t.Errorf("annotations %v", svc.Annotations)
			}
		}
		if diff := cmp.Diff(before, r.records(true)); diff != "" {
			t.Errorf("what changed (-before +after):\n%s", diff)
		}
		for _, change := range []func(){
			func() { r.launch("joins") },
			func() { r.nodes = r.nodes[1:] },
		} {
			change()
			r.sim.Front().Log().Reset()
			together(list, func(svc *v1.Service) { r.update(svc) })
			m := r.mutations()
			if len(m) != 2*services || slices.ContainsFunc(m, func(m string) bool { return m != "BatchUpdateMembers" }) {
				t.Errorf("%d changes, want one of the members of each pool: %v", len(m), m)
			}
		}
		for _, svc := range list {
			r.remove(svc)
		}
		r.nothing()
	})
}

// addressOf returns the floating IP of a load balancer.
func (r *rig) addressOf(lb api.LoadBalancer) string {
	for _, f := range r.fips() {
		if f.PortID == lb.VipPortID {
			return f.FloatingIP
		}
	}
	return lb.VipAddress
}

func (r *rig) wantNoDisruption() {
	r.t.Helper()
	for _, m := range r.mutations() {
		if strings.HasPrefix(m, "Delete") || strings.HasPrefix(m, "Create") || m == "UpdateFloatingIP" {
			r.t.Errorf("disruptive change: %s", m)
		}
	}
}

// approveHeld sets the annotation that approves the held changes of a Service.
func (r *rig) approveHeld(svc *v1.Service) {
	r.t.Helper()
	todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil || len(todo.Held) == 0 {
		r.t.Fatalf("%d changes are held, error %v", len(todo.Held), err)
	}
	svc.Annotations[intent.KeyApprove] = todo.HeldID
}

func TestTakeOverHoldsFloatingIPUnlikeLoadBalancerIP(t *testing.T) {
	svc := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = "172.24.4.200" })
	takeOver(t, sim.Options{}, svc, func(r *rig, lb api.LoadBalancer) {
		before := r.fips()[0].FloatingIP
		if got := r.ensure(svc).Ingress[0].IP; got != before {
			t.Errorf("the address is %s, was %s", got, before)
		}
		r.wantNoDisruption()
		r.wantEvent("held")
		r.ensure(svc)
		r.restart()
		r.ensure(svc)
		r.wantNoDisruption()
		// Now there is a cause, and the user may not choose an address: the one that works stays.
		svc.Spec.LoadBalancerIP = "172.24.4.201"
		_ = r.ensureError(svc, "CreateFloatingIP")
		if fips := r.fips(); len(fips) != 1 || fips[0].FloatingIP != before || fips[0].PortID != lb.VipPortID {
			t.Errorf("floating IPs %+v, want %s attached", fips, before)
		}
		mine := r.takeFIP()
		r.sleep(time.Minute) // The snapshot of floating IPs is older than this one.
		svc.Spec.LoadBalancerIP = mine.FloatingIP
		if got := r.ensure(svc).Ingress[0].IP; got != mine.FloatingIP {
			t.Errorf("the address is %s, want %s", got, mine.FloatingIP)
		}
		r.remove(svc)
		r.dropFIPs()
	})
}

func TestFailedLoadBalancerIsRecoveredWhenApproved(t *testing.T) {
	for name, allowed := range map[string]bool{"by a failover": true, "by a replacement where Octavia refuses that": false} {
		t.Run(name, func(t *testing.T) {
			svc := service()
			takeOver(t, sim.Options{AllowFailover: allowed}, svc, func(r *rig, lb api.LoadBalancer) {
				vip, address := lb.VipAddress, r.fips()[0].FloatingIP
				if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Error); err != nil {
					r.t.Fatal(err)
				}
				r.restart()
				if got := r.ensure(svc).Ingress[0].IP; got != address {
					r.t.Errorf("the address is %s, was %s", got, address)
				}
				r.wantEvent("held")
				r.launch("joins")
				annotate("timeout-client-data", "60000")(svc)
				r.ensure(svc)
				if err := r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes); err == nil {
					r.t.Error("an update succeeded that cannot change the members")
				}
				if m := r.mutations(); len(m) > 0 {
					r.t.Errorf("changes without an approval: %v", m)
				}
				r.approveHeld(svc)
				if !allowed {
					r.ensureError(svc, "Octavia refuses the failover")
					if m := r.mutations(); !slices.Equal(m, []string{"FailoverLoadBalancer"}) {
						r.t.Errorf("changes %v, want the failover that is refused", m)
					}
					_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
					if r.balancer().ID != lb.ID {
						r.t.Fatal("the approval of the failover replaced the load balancer")
					}
					r.approveHeld(svc)
					delete(svc.Annotations, annotation.KeyLoadBalancerID)
				}
				if got := r.ensure(svc).Ingress[0].IP; got != address {
					r.t.Errorf("the address is %s, was %s", got, address)
				}
				now := r.balancer()
				if now.VipAddress != vip || (now.ID == lb.ID) != allowed || now.ProvisioningStatus != api.Active {
					r.t.Errorf("load balancer %+v, was %s at %s", now, lb.ID, vip)
				}
				if n := len(r.membersAt(80)); n != 4 || r.listener(80).TimeoutClientData != 60000 {
					r.t.Errorf("%d members, timeout %d", n, r.listener(80).TimeoutClientData)
				}
				annotate("load-balancer-id", now.ID)(svc)
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// Members of a load balancer in ERROR wait for its replacement, which an Event names: a sync succeeds, so that it is not
// retried, and an update does not. The refused failover is on the Service, where a restart finds it.
func TestMembersOfFailedLoadBalancerWait(t *testing.T) {
	svc := service()
	takeOver(t, sim.Options{}, svc, func(r *rig, lb api.LoadBalancer) {
		r.annotates = true
		fail := func() {
			if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Error); err != nil {
				t.Fatal(err)
			}
			r.restart()
		}
		fail()
		r.approveHeld(svc)
		r.ensureError(svc, "Octavia refuses the failover")
		delete(svc.Annotations, intent.KeyApprove)
		r.launch("joins")
		annotate("timeout-client-data", "60000")(svc)
		r.front.Log().Reset()
		for range 2 {
			r.ensure(svc)
			r.wantEvent("delete load balancer")
			if err := r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes); err == nil {
				t.Error("an update succeeds with members undone")
			}
			if m := r.mutations(); len(m) > 0 {
				t.Errorf("changes %v", m)
			}
			if svc.Annotations[annotation.KeyFailoverRefused] != lb.ID {
				t.Errorf("annotations %v", svc.Annotations)
			}
			r.restart()
		}
		if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Active); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.ensure(svc)
		if n := len(r.membersAt(80)); n != 4 || svc.Annotations[annotation.KeyFailoverRefused] != "" {
			t.Errorf("%d members, annotations %v", n, svc.Annotations)
		}
		fail()
		r.ensure(svc)
		r.wantEvent("update load balancer")
		if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Active); err != nil {
			t.Fatal(err)
		}
		r.remove(svc)
		r.nothing()
	})
}

func TestTakeOverKeepsFloatingIPWithoutVisibleExternalNetwork(t *testing.T) {
	svc := service()
	takeOver(t, sim.Options{}, svc, func(r *rig, lb api.LoadBalancer) {
		address := r.fips()[0].FloatingIP
		r.settings.Internal = true // as the diff sees a Service that has no external network
		r.restart()
		r.ensure(svc)
		r.wantNoDisruption()
		if fips := r.fips(); len(fips) != 1 || fips[0].FloatingIP != address || fips[0].PortID != lb.VipPortID {
			t.Errorf("floating IPs %+v, want %s at port %s", fips, address, lb.VipPortID)
		}
		r.remove(svc)
		r.dropFIPs()
	})
}

func TestTakeOverWithUnknownClusterUIDReplacesNothing(t *testing.T) {
	svc := service(internal, annotate("subnet-id", "11111111-aaaa-bbbb-cccc-000000000000"))
	takeOver(t, sim.Options{}, svc, func(r *rig, lb api.LoadBalancer) {
		r.uid = ""
		r.restart()
		r.ensure(svc)
		r.wantNoDisruption()
		if r.balancer().ID != lb.ID {
			t.Error("the load balancer was replaced")
		}
		r.remove(svc)
	})
}

// A Service without node ports gets no load balancer, which would have no members. What another manager created stays.
func TestServiceWithoutNodePortsIsRefusedAtCreation(t *testing.T) {
	without := func(s *v1.Service) {
		s.Spec.AllocateLoadBalancerNodePorts = ptr.To(false)
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].NodePort = 0
		}
	}
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(without)
		err := r.ensureError(svc, "spec.ports[0].nodePort", "set spec.allocateLoadBalancerNodePorts to true")
		if m := r.mutations(); len(m) > 0 || !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("changes %v, error of class %s", m, cloudapi.ClassOf(err))
		}
		r.nothing()
	})
	svc := service(without)
	takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
		r.ensure(svc)
		r.wantEvent("set spec.allocateLoadBalancerNodePorts to true")
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		r.remove(svc)
		r.nothing()
	})
}

// Entries 8 and 9.
func TestMembersFollowNodesOfOtherSubnets(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.settings.SubnetID = ""
		moved := movedNodes{Clients: r.api, subnets: map[string]string{}}
		restart := func() {
			r.restart()
			r.cloud = New(Options{API: moved, Settings: r.settings, ServerID: r.cloud.serverID})
			r.manager = lbcommon.New(lbcommon.Options{Provider: "openstack", Vocabulary: annotation.Vocabulary("openstack")}, r.cloud)
		}
		restart()
		svc := service()
		r.ensure(svc)
		node := r.launch("aaa")
		moved.subnets[r.sim.Server(node.Name)] = r.sim.Places().PublicSubnet
		restart()
		r.update(svc)
		r.wantNoDisruption()
		if n := len(r.membersAt(80)); n != 4 {
			t.Errorf("%d members, want 4", n)
		}
		r.nodes = slices.DeleteFunc(r.nodes, func(n *v1.Node) bool { return n.Name == "node-0" })
		r.update(svc)
		if n := len(r.membersAt(80)); n != 3 {
			t.Errorf("%d members, want 3", n)
		}
		r.remove(svc)
	})
}

// Tags alone are no reason to write to a load balancer that was taken over, unless the Service asks for others.
func TestTagsOfTakenOverLoadBalancerAreMarks(t *testing.T) {
	tagged := func(tags string) func(*v1.Service) { return annotate("listener-tags", tags, "pool-tags", tags) }
	for name, change := range map[string]func(*v1.Service){
		"another setting": annotate("timeout-client-data", "60000"),
		"other tags":      tagged("gold,silver"),
	} {
		t.Run(name, func(t *testing.T) {
			svc := service(tagged("gold"))
			takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
				r.steady(svc)
				r.launch("joins")
				r.update(svc)
				r.ensure(svc)
				if tags := r.listener(80).Tags; slices.Contains(tags, "gold") {
					t.Errorf("the listener has the tags %q after a node joined", tags)
				}
				change(svc)
				r.ensure(svc)
				if l, p := r.listener(80).Tags, r.pool(80).Tags; !slices.Contains(l, "gold") || !slices.Contains(p, "gold") {
					t.Errorf("tags %q of the listener, %q of the pool, want gold in both", l, p)
				}
				r.steady(svc)
				r.remove(svc)
			})
		})
	}
}

// An approval of the recovery of a failed load balancer does not hold for its next failure.
func TestApprovalOfFailoverHoldsForOneFailure(t *testing.T) {
	svc := service()
	takeOver(t, sim.Options{AllowFailover: true}, svc, func(r *rig, lb api.LoadBalancer) {
		fail := func() {
			r.sleep(time.Minute)
			if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Error); err != nil {
				r.t.Fatal(err)
			}
			r.restart()
		}
		fail()
		r.approveHeld(svc)
		r.ensure(svc)
		if now := r.balancer(); now.ID != lb.ID || now.ProvisioningStatus != api.Active {
			r.t.Fatalf("load balancer %+v after the approved failover", now)
		}
		fail()
		for range 2 {
			_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
		}
		if m := r.mutations(); len(m) > 0 {
			r.t.Errorf("the approval of the first failure makes %v at the second", m)
		}
		r.wantEvent("held")
		if err := r.sim.SetLoadBalancerStatus(lb.Name, api.Active); err != nil {
			r.t.Fatal(err)
		}
		r.restart()
		r.remove(svc)
		r.nothing()
	})
}

// An approval of a recovery that was not needed does not hold for the next failure.
func TestUnusedApprovalOfFailoverHoldsForOneFailure(t *testing.T) {
	bubble(t, sim.Options{AllowFailover: true}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		name := r.balancer().Name
		set := func(status string) {
			r.sleep(time.Minute)
			if err := r.sim.SetLoadBalancerStatus(name, status); err != nil {
				r.t.Fatal(err)
			}
			r.restart()
		}
		set(api.Error)
		r.approveHeld(svc)
		set(api.Active)
		set(api.Error)
		r.ensure(svc)
		if m := r.mutations(); len(m) > 0 {
			r.t.Errorf("the approval of the first failure makes %v at the second", m)
		}
		set(api.Active)
		r.remove(svc)
		r.nothing()
	})
}

// A load balancer without health monitors stays so when its first change is interrupted: between the record of the
// cause and the tag that remembers it.
func TestInterruptedFirstChangeAddsNoMonitors(t *testing.T) {
	svc := service(local)
	takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
		r.ensure(svc)
		svc.Spec.Ports = svc.Spec.Ports[:1]
		r.sim.Front().SetFaults(
			kit.Fault{Kind: kit.FaultError, Operation: "UpdateLoadBalancer", Call: 2, Times: kit.Always},
			kit.Fault{Kind: kit.FaultError, Operation: "DeleteListener", Times: kit.Always},
			kit.Fault{Kind: kit.FaultError, Operation: "DeletePool", Times: kit.Always},
		)
		_ = r.ensureError(svc)
		if record := model.StoredRecord(r.balancer()); !record.IsZero() {
			r.t.Fatalf("the record is %q after %v, want none", record.Encode(), r.mutations())
		}
		r.sim.Front().SetFaults()
		r.restart()
		r.ensure(svc)
		if r.monitor(80) != nil || !slices.Contains(r.balancer().Tags, names.UnmonitoredTag) {
			r.t.Errorf("monitor %v, tags %q", r.monitor(80), r.balancer().Tags)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}
