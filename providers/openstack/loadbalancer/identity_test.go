package loadbalancer

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// otherCluster makes a cluster of the same name in the project: a network of its own with the same addresses, and nodes
// with the names and addresses of ours, as clusters from one template have. It returns the load balancer that another
// manager made there for a Service, without a mark.
func (r *rig) otherCluster(svc *v1.Service, withMembers bool) api.LoadBalancer {
	r.t.Helper()
	network, subnet, err := r.sim.AddNetwork("theirs", netip.MustParsePrefix("10.0.0.0/16"), false)
	if err != nil {
		r.t.Fatal(err)
	}
	ours, privateSubnet := r.nodes, r.privateSubnet
	r.launch("their-machine")
	for range 8 {
		if _, err := r.sim.AttachPort("their-machine", network); err != nil {
			r.t.Fatal(err)
		}
	}
	ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{Addresses: []string{ours[0].Status.Addresses[len(ours[0].Status.Addresses)-1].Address}})
	if err != nil || len(ports) < 2 {
		r.t.Fatalf("%d ports have the address of a node of both clusters, error %v", len(ports), err)
	}
	r.nodes, r.privateSubnet = ours, subnet
	if !withMembers {
		r.nodes = nil
	}
	lb := legacy{r: r, svc: svc, subnet: privateSubnet}.balancer()
	r.nodes, r.privateSubnet = ours, privateSubnet
	return lb
}

// A second cluster of the same name does not take the load balancer of the first, which the first has not marked yet: not
// by its name, its tag or its description, and not by nodes of the same names and addresses.
func TestNameProvesNoLoadBalancer(t *testing.T) {
	for name, withMembers := range map[string]bool{"with nodes of the same names and addresses": true, "without nodes": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				lb := r.otherCluster(service(), withMembers)
				before := r.records(true)
				r.restart()
				svc := service()
				r.ensureError(svc, "nothing shows that it is this cluster's", "--cluster-name")
				_ = r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
				r.remove(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes of another cluster's: %v", m)
				}
				if after := r.records(true); !slices.Equal(before, after) {
					t.Errorf("objects %q, were %q", after, before)
				}
				if todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{Remove: true}); err != nil ||
					!strings.Contains(strings.Join(todo.Warnings, "\n"), "left alone") {
					t.Errorf("the plan of the deletion is %+v, %v", todo, err)
				}
				if got := r.balancer().ID; got != lb.ID {
					t.Errorf("load balancer %s, was %s", got, lb.ID)
				}
				r.clear()
			})
		})
	}
}

// What proves whose load balancer it is, without the ID in the Service: an address in its status, members that are its
// nodes, or the marks of an interrupted creation. The members follow the nodes, and the Service can be deleted.
func TestProofsOfLoadBalancer(t *testing.T) {
	unnamed := func(r *rig, svc *v1.Service) api.LoadBalancer { return legacy{r: r, svc: svc}.balancer() }
	for _, tt := range []struct {
		name string
		left func(r *rig, svc *v1.Service) api.LoadBalancer
	}{
		{name: "members that are its nodes", left: unnamed},
		{name: "the floating IP in its status", left: func(r *rig, svc *v1.Service) api.LoadBalancer {
			lb := r.otherCluster(svc, true)
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: r.addressOf(lb)}}
			return lb
		}},
		{name: "the VIP in its status", left: func(r *rig, svc *v1.Service) api.LoadBalancer {
			internal(svc)
			lb := r.otherCluster(svc, true)
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: lb.VipAddress}}
			return lb
		}},
		{name: "the marks of an interrupted creation", left: func(r *rig, svc *v1.Service) api.LoadBalancer {
			nodes := r.nodes
			r.nodes = nil
			r.front.SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "CreateFloatingIP", Times: kit.Always})
			_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, nil)
			r.front.SetFaults()
			r.nodes = nodes
			return r.balancer()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				lb := tt.left(r, svc)
				r.restart()
				r.launch("joins")
				if tt.name == "members that are its nodes" {
					// Also while the Service is invalid.
					invalid := svc.DeepCopy()
					annotate("timeout-client-data", "x")(invalid)
					invalid.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "web.example.org"}}
					_ = r.ensureError(invalid, "timeout-client-data")
					if n := len(r.membersAt(80)); n != len(r.nodes) {
						t.Errorf("%d members while the Service is invalid, want %d", n, len(r.nodes))
					}
				}
				r.ensure(svc)
				if n := len(r.membersAt(80)); n != len(r.nodes) || r.balancer().ID != lb.ID {
					t.Errorf("%d members in %s, want %d in %s", n, r.balancer().ID, len(r.nodes), lb.ID)
				}
				r.restart()
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// Where Octavia has no tags, nothing marks the cluster: the name proves as little there.
func TestNameProvesNothingWithoutTags(t *testing.T) {
	bubble(t, sim.Options{OctaviaVersion: "2.4"}, Settings{}, func(r *rig) {
		ours := r.nodes
		r.nodes, r.uid = nil, otherUID
		r.launch("theirs")
		r.restart()
		r.ensure(service())
		r.nodes, r.uid = ours, clusterUID
		r.restart()
		svc := service()
		r.ensureError(svc, "nothing shows that it is this cluster's")
		r.remove(svc)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes of another cluster's: %v", m)
		}
		r.clear()
	})
}

// The description of a floating IP is no proof either, also where Neutron denies the tags that would be one.
func TestDescriptionProvesNoFloatingIP(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		theirs := r.describedFIP()
		r.limit(&limitedNetwork{deniesTags: true})
		svc := service(named("first"))
		r.ensure(svc) // Neutron denies the tags of its floating IP
		same := service()
		if got := r.ensure(same).Ingress[0].IP; got == theirs.FloatingIP {
			t.Errorf("the other cluster's floating IP %s is used", got)
		}
		r.remove(same)
		if !slices.ContainsFunc(r.fips(), func(f api.FloatingIP) bool { return f.ID == theirs.ID }) {
			t.Error("the other cluster's floating IP is deleted")
		}
		// With its address in the status it is the Service's.
		same = service()
		same.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: theirs.FloatingIP}}
		if got := r.ensure(same).Ingress[0].IP; got != theirs.FloatingIP {
			t.Errorf("the address is %s, want %s", got, theirs.FloatingIP)
		}
		r.remove(same)
		r.remove(svc)
		r.nothing()
	})
}

// The name of a security group has the UID of its Service: that of a Service of the same name in another cluster of the
// same name stays.
func TestGroupOfOtherServiceIsKept(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		theirs := service()
		theirs.UID = "99999999-aaaa-bbbb-cccc-555555555555"
		legacy{r: r, svc: theirs}.group()
		before := r.groupRecords(true)
		svc := service()
		r.ensure(svc)
		if n := len(r.groupRecords(true)); n != 2 {
			t.Errorf("%d groups, want one for each Service", n)
		}
		r.remove(svc)
		if after := r.groupRecords(true); !slices.Equal(before, after) {
			t.Errorf("groups %q, were %q", after, before)
		}
	})
}

// inNamespace moves a Service to another namespace.
func inNamespace(namespace string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Namespace = namespace }
}

// The owner of a load balancer decides which Services of other namespaces share it.
func TestOwnerLetsGuestsIn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		list  *string
		guest string
		let   bool
	}{
		{"a Service of its namespace", nil, "default/guest", true},
		{"a Service of its namespace beside a list", ptr.To(""), "default/guest", true},
		{"a Service of another namespace", nil, "tenant/guest", false},
		{"a Service of the list", ptr.To("other/x, tenant/guest"), "tenant/guest", true},
		{"a Service of a namespace of the list", ptr.To("tenant/*"), "tenant/guest", true},
		{"a Service that is not in the list", ptr.To("tenant/other,other/*"), "tenant/guest", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{MaxShared: ptr.To(3)}, func(r *rig) {
				owner := service()
				r.ensure(owner)
				id := r.balancer().ID
				if tt.list != nil {
					owner.Annotations[annotation.KeyGuests] = *tt.list
					r.ensure(owner)
					r.steady(owner)
				}
				namespace, name, _ := strings.Cut(tt.guest, "/")
				guest := service(named(name), inNamespace(namespace), onPorts(8080), annotate("load-balancer-id", id))
				r.front.Log().Reset()
				if !tt.let {
					r.ensureError(guest, "load-balancer-id", "add tenant/guest to "+annotation.KeyGuests)
					r.remove(guest)
					if m := r.mutations(); len(m) > 0 {
						t.Errorf("changes %v", m)
					}
					r.remove(owner)
					r.nothing()
					return
				}
				r.ensure(guest)
				r.steady(guest)
				// It goes on when the owner takes it off the list, and its members follow.
				delete(owner.Annotations, annotation.KeyGuests)
				r.ensure(owner)
				r.launch("joins")
				r.update(guest)
				r.ensure(guest)
				if n := len(r.membersAt(8080)); n != len(r.nodes) {
					t.Errorf("%d members, want %d", n, len(r.nodes))
				}
				r.remove(owner)
				r.wantPorts(1)
				r.remove(guest)
				r.nothing()
			})
		})
	}
}

// An owner that sets who may share its load balancer takes its address with it, unless one of them uses it.
func TestAddressDoesNotOutliveOwnerByStranger(t *testing.T) {
	for _, tt := range []struct {
		name  string
		list  *string
		stays bool
	}{
		{"the owner has no list", nil, true},
		{"the guest is in the list", ptr.To("tenant/guest"), true},
		{"the list is empty", ptr.To(""), false},
		{"the list has others", ptr.To("other/*"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				owner := service(func(s *v1.Service) { s.Spec.Ports[0].NodePort = 30080 })
				guest := service(named("guest"), inNamespace("tenant"), onPorts(8080))
				shared := legacy{r: r, svc: owner}.balancer()
				legacy{r: r, svc: guest}.join(shared)
				annotate("load-balancer-id", shared.ID)(owner)
				annotate("load-balancer-id", shared.ID)(guest)
				r.restart()
				r.ensure(owner)
				address := r.ensure(guest).Ingress[0].IP
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("taking over changes %v", m)
				}
				if tt.list != nil {
					owner.Annotations[annotation.KeyGuests] = *tt.list
					r.ensure(owner)
				}
				r.restart()
				r.remove(owner)
				if n := r.sim.Objects()["load-balancers"]; (n == 1) != tt.stays {
					t.Errorf("%d load balancers after the deletion of the owner", n)
				}
				if got := r.ensure(guest).Ingress[0].IP; (got == address) != tt.stays {
					t.Errorf("the guest has the address %s, had %s", got, address)
				}
				r.remove(guest)
				r.nothing()
			})
		})
	}
}

// A load balancer that another cluster has marked is closed to new guests. One that shares it already goes on: its
// members follow the nodes, and its deletion takes nothing of others.
func TestGuestsOnLoadBalancerOfOtherCluster(t *testing.T) {
	for name, joined := range map[string]bool{"a new guest is refused": false, "one from before goes on": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				ours := r.nodes
				r.nodes = nil
				r.launch("theirs")
				theirs := r.nodes
				r.uid, r.cluster = otherUID, "first"
				r.restart()
				owner := service(named("owner"))
				address := r.ensure(owner).Ingress[0].IP
				shared := r.balancer()
				r.uid, r.cluster, r.nodes = clusterUID, clusterName, ours
				guest := service(onPorts(8080), annotate("load-balancer-id", shared.ID))
				if joined {
					legacy{r: r, svc: guest}.join(shared)
				}
				r.restart()
				if !joined {
					r.ensureError(guest, "belongs to another cluster", "load-balancer-id")
					r.remove(guest)
					if m := r.mutations(); len(m) > 0 {
						t.Errorf("changes %v", m)
					}
					return
				}
				if got := r.ensure(guest).Ingress[0].IP; got != address {
					t.Errorf("the address is %s, want %s", got, address)
				}
				for _, status := range []v1.LoadBalancerStatus{guest.Status.LoadBalancer, {}} {
					guest.Status.LoadBalancer = status
					r.launch("joins-" + string(rune('a'+len(status.Ingress))))
					r.restart()
					r.update(guest)
					if n := len(r.membersAt(8080)); n != len(r.nodes) {
						t.Errorf("%d members, want %d", n, len(r.nodes))
					}
				}
				// Also while the Service is invalid.
				r.ensure(guest)
				annotate("timeout-client-data", "x")(guest)
				r.nodes = r.nodes[1:]
				_ = r.ensureError(guest, "timeout-client-data")
				if n := len(r.membersAt(8080)); n != len(r.nodes) {
					t.Errorf("%d members while the Service is invalid, want %d", n, len(r.nodes))
				}
				r.remove(guest)
				r.uid, r.cluster, r.nodes = otherUID, "first", theirs
				r.restart()
				r.steady(owner)
				r.remove(owner)
				r.nothing()
			})
		})
	}
}

// Guests of two clusters of one name on one load balancer have the same tag: only members prove whose listeners they
// are.
func TestListenersOfGuestOfOtherClusterWithSameName(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		made, err := r.api.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{Name: "by-hand", VipSubnetID: r.privateSubnet})
		if err != nil {
			t.Fatal(err)
		}
		ours := r.nodes
		r.nodes = nil
		r.launch("theirs")
		svc := service(internal, onPorts(8080), annotate("load-balancer-id", made.ID))
		legacy{r: r, svc: svc}.join(made)
		r.nodes = ours
		before := r.records(true)
		r.restart()
		changed := service(internal, onPorts(9090), annotate("load-balancer-id", made.ID))
		r.ensureError(changed, "nothing shows that they are this cluster's")
		r.remove(changed)
		if after := r.records(true); !slices.Equal(before, after) || len(r.mutations()) > 0 {
			t.Errorf("objects %q, were %q; changes %v", after, before, r.mutations())
		}
		r.clear()
	})
}

// Tags of owners cannot be written as tags of a Service's own.
func TestGuestsTagIsReserved(t *testing.T) {
	if !names.IsReservedTag(names.GuestsTagPrefix + "tenant/guest") {
		t.Error("a Service can set the tag that lets it in")
	}
}
