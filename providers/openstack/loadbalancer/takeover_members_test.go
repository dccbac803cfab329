package loadbalancer

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// classify restarts the manager with a lister of the nodes, which it classifies by their provider IDs.
func (r *rig) classify() {
	r.t.Helper()
	r.restart()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, n := range r.nodes {
		if err := indexer.Add(n); err != nil {
			r.t.Fatal(err)
		}
	}
	lister := &nodes.LazyLister{}
	lister.Set(corelisters.NewNodeLister(indexer), nil)
	ids := names.ProviderIDs("RegionOne")
	owns := func(n *v1.Node) provider.Ownership {
		if _, err := ids.Parse(n.Spec.ProviderID); err != nil {
			return provider.Foreign
		}
		return provider.Mine
	}
	r.cloud = New(Options{API: r.api, Settings: r.settings, ServerID: ids.Parse, Nodes: lister, OwnsNode: owns})
	r.manager = lbcommon.New(lbcommon.Options{
		Provider: "openstack", Vocabulary: annotation.Vocabulary("openstack"), OwnsNode: owns, Nodes: lister,
	}, r.cloud)
	r.manager.SetRuntime(r.runtime())
}

// renameProviderID gives a node another provider ID.
func (r *rig) renameProviderID(index int, id string) {
	r.nodes[index] = r.nodes[index].DeepCopy()
	r.nodes[index].Spec.ProviderID = id
}

func TestMembersOfUnownedNodesStay(t *testing.T) {
	for name, id := range map[string]string{
		"no provider ID": "", "another cloud": "metal3://rack/node-2",
		"another region": "openstack://RegionTwo/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
	} {
		t.Run(name, func(t *testing.T) {
			svc := service()
			takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
				r.renameProviderID(2, id)
				r.classify()
				r.ensure(svc)
				if n := len(r.membersAt(80)); n != 3 {
					t.Errorf("%d members after the take-over, want 3", n)
				}
				r.wantEvent("node-2 have no provider ID of this cloud and region")
				r.ensure(svc)
				if e := r.events(); len(e) > 0 {
					t.Errorf("Events are repeated: %q", e)
				}
				// Nodes join, and a Service that changes keeps the member too.
				r.launch("node-3")
				svc.Spec.Ports[0].NodePort = 31080
				r.classify()
				r.ensure(svc)
				if m := r.membersAt(80); len(m) != 4 || m[0].Port != 31080 {
					t.Errorf("members after another node joined: %+v, want 4", m)
				}
				r.classify()
				r.update(svc)
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes where there are none to make: %v", m)
				}
				// A new node of that kind is not added.
				r.launch("node-4")
				r.renameProviderID(4, id)
				r.classify()
				r.update(svc)
				if n := len(r.membersAt(80)); n != 4 {
					t.Errorf("%d members, want 4 without the new node", n)
				}
				// The label removes a node, and so does its deletion.
				r.nodes[2].Labels = map[string]string{provider.ManagedLabel: "false"}
				r.classify()
				r.update(svc)
				for _, m := range r.membersAt(80) {
					if strings.HasPrefix(m.Name, "node-2") {
						t.Errorf("member %+v is left", m)
					}
				}
				r.remove(svc)
			})
		})
	}
}

func TestTakeOverHoldsProbesOfGuest(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := service()
		guest := service(named("guest"), onPorts(8080), func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		})
		lb := legacy{r: r, svc: owner}.balancer()
		legacy{r: r, svc: guest}.join(lb)
		annotate("load-balancer-id", lb.ID)(owner)
		annotate("load-balancer-id", lb.ID)(guest)
		r.restart()
		r.ensure(owner)
		r.events()
		r.sim.Front().Log().Reset()
		for range 2 {
			r.ensure(guest)
			r.wantEvent("create health monitor")
			if m := r.mutations(); len(m) > 0 {
				t.Errorf("changes where there are none to make: %v", m)
			}
			r.restart()
		}
		r.ensure(guest)
		r.launch("node-9")
		r.update(guest)
		if n := len(r.membersAt(8080)); n != 4 {
			t.Errorf("%d members, want 4", n)
		}
		annotate("enable-health-monitor", "true")(guest)
		r.ensure(guest)
		if m := r.monitor(8080); m == nil || r.membersAt(8080)[0].MonitorPort != 32000 {
			t.Errorf("monitor %+v of members %+v", m, r.membersAt(8080))
		}
		r.steady(guest)
		r.remove(guest)
		r.remove(owner)
	})
}

func TestTakeOverKeepsForeignHeadersAndPersistence(t *testing.T) {
	svc := service(annotate("x-forwarded-for", "true"))
	takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
		headers := map[string]string{"X-Forwarded-For": "true", "X-Forwarded-Proto": "true"}
		l := r.listener(80)
		if _, err := r.api.UpdateListener(t.Context(), l.ID, listeners.UpdateOpts{InsertHeaders: &headers}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.api.UpdatePool(t.Context(), l.DefaultPoolID,
			pools.UpdateOpts{Persistence: &pools.SessionPersistence{Type: "HTTP_COOKIE"}}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		check := func() {
			t.Helper()
			if got := r.listener(80).InsertHeaders; !maps.Equal(got, headers) {
				t.Errorf("headers %v, want %v", got, headers)
			}
			if got := r.pool(80).Persistence.Type; got != "HTTP_COOKIE" {
				t.Errorf("session persistence %q", got)
			}
		}
		r.ensure(svc)
		check()
		svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		r.ensure(svc)
		check()
		r.wantEvent("spec.sessionAffinity has no effect on port TCP 80")
		r.steady(svc)
		r.remove(svc)
	})
}

// A pool that has to be replaced gets no members from Update, which says so, unless the replacement is held.
func TestUpdateFailsWhilePoolIsToBeReplaced(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		other, _, err := r.sim.AddNetwork("other", netip.MustParsePrefix("192.0.2.0/24"), false)
		if err != nil {
			t.Fatal(err)
		}
		subnets, err := r.api.ListSubnets(r.t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		svc := service()
		r.ensure(svc)
		pool := r.pool(80).ID
		r.launch("node-9")
		annotate("member-subnet-id", subnets[0].ID)(svc)
		r.restart()
		err = r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
		if members := len(r.membersAt(80)); err == nil && members != 4 {
			t.Errorf("Update succeeded with %d members, want 4 or an error", members)
		}
		r.ensure(svc)
		if members := len(r.membersAt(80)); members != 4 {
			t.Errorf("%d members of pool %s (before: %s), want 4", members, r.pool(80).ID, pool)
		}
		r.remove(svc)
	})
}

// The checksums of members prove the members of the Service's ports. Those of a listener that is to be deleted are
// read, so that they follow the nodes while the deletion is held.
func TestMembersOfHeldListenerFollowNodesAfterRestart(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.annotates = true
		r.restart()
		svc := service()
		r.ensure(svc)
		r.ensure(svc)
		if svc.Annotations[annotation.KeyMembers] == "" {
			t.Fatal("the Service has no checksums of its members")
		}
		holdAll := func() {
			r.restart()
			runtime := provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, Disruption: provider.HoldAllDisruption}
			r.manager.SetRuntime(runtime)
		}
		svc.Spec.Ports = svc.Spec.Ports[:1]
		holdAll()
		r.ensure(svc)
		r.wantEvent("held")
		for name, sync := range map[string]func(*v1.Service){
			"update": r.update, "ensure": func(svc *v1.Service) { r.ensure(svc) },
		} {
			r.launch(name)
			holdAll()
			sync(svc)
			for _, port := range []int{80, 443} {
				if n := len(r.membersAt(port)); n != len(r.nodes) {
					t.Errorf("%s: %d members at port %d, want %d", name, n, port, len(r.nodes))
				}
			}
		}
		r.remove(svc)
	})
}

// A port that replaces another one has its index, which is part of the names of listeners and pools: while the deletion
// of the old listener is held, two pools have one name. The members of both follow the nodes.
func TestMembersFollowWhileReplacedPortIsHeld(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		runtime := provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, Disruption: provider.HoldAllDisruption}
		r.manager.SetRuntime(runtime)
		svc.Spec.Ports[1].Port = 8443
		r.ensure(svc)
		if old, successor := r.pool(443), r.pool(8443); old.Name != successor.Name {
			t.Fatalf("pools %s and %s, want one name", old.Name, successor.Name)
		}
		for name, sync := range map[string]func(*v1.Service){
			"update": r.update, "ensure": func(svc *v1.Service) { r.ensure(svc) },
		} {
			r.launch(name)
			r.nodes = r.nodes[1:]
			sync(svc)
			for _, port := range []int{80, 443, 8443} {
				members := r.membersAt(port)
				joined := slices.ContainsFunc(members, func(m api.Member) bool { return m.Name == name })
				if len(members) != len(r.nodes) || !joined {
					t.Errorf("%s: members at port %d: %+v, want %d with %s", name, port, members, len(r.nodes), name)
				}
			}
		}
		r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid})
		r.ensure(svc)
		r.wantPorts(2)
		r.steady(svc)
		r.remove(svc)
	})
}

// After a restart nothing shows which nodes an invalid selector would select. If it is new, all nodes stay selected, as
// the applied record shows; otherwise members leave with their nodes, and none join.
func TestMembersFollowInvalidSelectorAfterRestart(t *testing.T) {
	for name, tt := range map[string]struct {
		before string
		want   []string
	}{
		"new selector":     {want: []string{"joins", "node-0", "node-1"}},
		"changed selector": {before: "pool=edge", want: []string{"joins", "node-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				for _, n := range r.nodes[1:] {
					n.Labels = map[string]string{"pool": "edge"}
				}
				svc := service()
				if tt.before != "" {
					annotate("node-selector", tt.before)(svc)
				}
				svc.Status.LoadBalancer = *r.ensure(svc)
				annotate("node-selector", "a=b=c")(svc)
				r.restart()
				r.launch("joins").Labels = map[string]string{"pool": "edge"}
				r.nodes = slices.DeleteFunc(r.nodes, func(n *v1.Node) bool { return n.Name == "node-2" })
				r.update(svc)
				var got []string
				for _, m := range r.membersAt(80) {
					got = append(got, m.Name)
				}
				slices.Sort(got)
				if !slices.Equal(got, tt.want) {
					t.Errorf("members %v, want %v", got, tt.want)
				}
				r.ensureError(svc, "node-selector")
				delete(svc.Annotations, annotation.KeyNodeSelector)
				r.ensure(svc)
				r.steady(svc)
				r.remove(svc)
			})
		})
	}
}

// Another manager names members by their nodes where this one calls a driver without batches member by member: the names
// stay, and only nodes that join and leave change.
func TestSerialDriverKeepsNamesOfMembers(t *testing.T) {
	bubble(t, sim.Options{}, Settings{Serial: true}, func(r *rig) {
		svc := service()
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.restart()
		r.ensure(svc)
		if m := r.mutations(); len(m) > 0 {
			r.t.Errorf("taking over changes %v", m)
		}
		r.launch("joins")
		r.nodes = r.nodes[1:]
		want := []string{"CreateMember", "CreateMember", "DeleteMember", "DeleteMember"}
		r.update(svc)
		if m := slices.Sorted(slices.Values(r.mutations())); !slices.Equal(m, want) {
			r.t.Errorf("changes %v, want %v", m, want)
		}
		// Also while the Service is invalid.
		r.front.Log().Reset()
		r.launch("later")
		annotate("timeout-client-data", "x")(svc)
		_ = r.ensureError(svc, "timeout-client-data")
		if m := r.mutations(); !slices.Equal(m, want[:2]) {
			r.t.Errorf("changes %v, want %v", m, want[:2])
		}
		r.remove(svc)
		r.nothing()
	})
}

// Nodes of other clouds cost a manager that starts no reads of members, unless one of them may be a member.
func TestMembersAreNotReadBecauseOfUnownedNodes(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.annotates = true
		svc := service()
		r.renameProviderID(2, "aws:///eu-central-1a/i-0123456789abcdef0")
		r.classify()
		r.ensure(svc)
		r.ensure(svc)
		if n := len(r.membersAt(80)); n != 2 || svc.Annotations[annotation.KeyMembers] == "" {
			t.Fatalf("%d members, want 2; annotations %v", n, svc.Annotations)
		}
		r.classify()
		r.ensure(svc)
		if n := r.count("ListMembers"); n > 0 {
			t.Errorf("a manager that starts reads the members of %d pools: %v", n, r.calls())
		}
		// A node of another cloud that another manager added is seen, and kept when a node joins.
		added := api.Member{Address: r.nodes[2].Status.Addresses[1].Address, Port: 30080}
		if _, err := r.api.CreateMember(t.Context(), r.pool(80).ID, added); err != nil {
			t.Fatal(err)
		}
		r.launch("node-3")
		r.classify()
		r.ensure(svc)
		if n := len(r.membersAt(80)); n != 4 {
			t.Errorf("%d members, want 4 with that of the other cloud", n)
		}
	})
}

// The first edit after a take-over writes the marks with the members that it changes, in one sync.
func TestEditOfNodePortAfterTakeOver(t *testing.T) {
	svc := service()
	takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
		r.ensure(svc)
		if m := r.mutations(); len(m) > 0 {
			t.Fatalf("the take-over changes %v", m)
		}
		svc.Spec.Ports[0].NodePort = 31080
		r.ensure(svc)
		want := []string{"AddTag", "BatchUpdateMembers", "UpdateLoadBalancer"}
		if m := r.mutations(); !slices.Equal(slices.Sorted(slices.Values(m)), want) {
			t.Errorf("changes %v, want %v", m, want)
		}
	})
}
