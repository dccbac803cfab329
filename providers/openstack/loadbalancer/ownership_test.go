package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// otherUID is of another cluster that has the same name.
const otherUID = "99999999-2222-3333-4444-555555555555"

// Two clusters with one name in one project: whatever the other one's Service of the same name has is
// neither used, nor changed, nor deleted. Today they fight over one load balancer.
func TestKeepObjectsOfOtherClusterWithSameName(t *testing.T) {
	theirs := func(nodes []*v1.Node) []*v1.Node {
		other := nodes[0].DeepCopy()
		other.Name, other.Status.Addresses = "theirs", []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.77.7"}}
		return []*v1.Node{other}
	}
	for _, tt := range []struct {
		name string
		// left is what the other cluster has; it returns its load balancer, if any.
		left func(*rig)
		// refused is part of the error; without it a load balancer of our own is created.
		refused string
	}{
		{name: "a load balancer with its mark", left: func(r *rig) {
			r.uid = otherUID
			r.restart()
			r.ensure(service())
			r.uid = clusterUID
		}, refused: "belongs to another cluster"},
		{name: "a load balancer without a mark", left: func(r *rig) {
			ours := r.nodes
			r.nodes = theirs(ours)
			r.left(service(), lbName("web"), true)
			r.nodes = ours
		}, refused: "nothing shows that it is this cluster's"},
		{name: "a floating IP with its mark", left: func(r *rig) {
			f := r.describedFIP()
			if err := r.api.AddTag(r.t.Context(), api.FloatingIPs, f.ID, names.ClusterTag(otherUID)); err != nil {
				r.t.Fatal(err)
			}
		}},
		{name: "a floating IP without a mark", left: func(r *rig) { r.describedFIP() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				tt.left(r)
				before := r.fips()
				r.restart()
				svc := service()
				if tt.refused != "" {
					r.ensureError(svc, tt.refused, "--cluster-name")
					if m := r.mutations(); len(m) > 0 {
						t.Errorf("changes of another cluster's: %v", m)
					}
				} else {
					if address := r.ensure(svc).Ingress[0].IP; address == before[0].FloatingIP {
						t.Errorf("the other cluster's floating IP %s is used", address)
					}
					r.steady(svc)
				}
				r.restart()
				r.remove(svc)
				if tt.refused != "" {
					if m := r.mutations(); len(m) > 0 {
						t.Errorf("changes of another cluster's: %v", m)
					}
					todo, err := r.manager.PlanLoadBalancer(t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{Remove: true})
					if err != nil || !strings.Contains(strings.Join(todo.Warnings, "\n"), "left alone") {
						t.Errorf("the plan of the deletion is %+v, %v", todo, err)
					}
				}
				if after := r.fips(); !slices.EqualFunc(before, after, func(a, b api.FloatingIP) bool {
					return a.ID == b.ID && slices.Equal(a.Tags, b.Tags) && a.PortID == b.PortID
				}) {
					t.Errorf("floating IPs %+v, were %+v", after, before)
				}
				r.clear()
			})
		})
	}
}

// describedFIP is a floating IP with the description of one for the Service default/web.
func (r *rig) describedFIP() api.FloatingIP {
	r.t.Helper()
	f, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{
		FloatingNetworkID: r.sim.Places().PublicNetwork, Description: names.FloatingIPDescription(clusterName, types.NamespacedName{Namespace: "default", Name: "web"}),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// clear deletes everything, as the person does whose objects are left.
func (r *rig) clear() {
	r.t.Helper()
	list, err := r.api.ListLoadBalancers(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, lb := range list {
		if err := r.sim.DeleteLoadBalancer(lb.Name); err != nil {
			r.t.Fatal(err)
		}
	}
	r.dropFIPs()
}

// What shows that an unmarked load balancer is ours: the Service names it, or one of our nodes is in it.
func TestAdoptUnmarkedLoadBalancerWithProof(t *testing.T) {
	for _, tt := range []struct {
		name  string
		prove func(r *rig, svc *v1.Service, lb string)
	}{
		{"the Service names it", func(_ *rig, svc *v1.Service, lb string) { annotate("load-balancer-id", lb)(svc) }},
		{"one of our nodes is in it", func(r *rig, _ *v1.Service, _ string) { r.nodes = r.nodes[:1] }},
		{"the Service names it, and the UID is unknown", func(r *rig, svc *v1.Service, lb string) {
			annotate("load-balancer-id", lb)(svc)
			r.uid = ""
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				svc := service()
				ours := r.nodes
				if tt.name != "one of our nodes is in it" {
					r.nodes = nil
				}
				lb := r.left(svc, lbName("web"), true)
				r.nodes = ours
				tt.prove(r, svc, lb.ID)
				r.annotates = true
				r.restart()
				r.ensure(svc)
				if got := r.balancer().ID; got != lb.ID {
					t.Errorf("the load balancer %s was made beside %s", got, lb.ID)
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A load balancer of ours is used also while another cluster has one of the same name.
func TestPreferOwnLoadBalancerOfSameName(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		ours := r.balancer().ID
		nodes := r.nodes
		r.nodes = nil
		theirs := r.left(svc, lbName("web"), true)
		r.nodes = nodes
		r.restart()
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		if left := r.balancer(); left.ID != theirs.ID {
			t.Errorf("the load balancer %s is left instead of %s; ours is %s", left.ID, theirs.ID, ours)
		}
		r.clear()
	})
}

// The floating IP that we make says its owner, so that it goes also when its load balancer is deleted
// already, or when the cluster has another name by then.
func TestFloatingIPIsMarkedWithCluster(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		if f := r.fips()[0]; !slices.Equal(f.Tags, []string{names.ClusterTag(clusterUID)}) {
			t.Errorf("tags %q", f.Tags)
		}
		if err := r.sim.DeleteLoadBalancer(lbName("web")); err != nil {
			t.Fatal(err)
		}
		r.cluster = "renamed"
		r.restart()
		r.remove(svc)
		r.nothing()
	})
}

// A floating IP of the user's own is used and not marked: it stays theirs.
func TestUserFloatingIPIsNotMarked(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		mine := r.takeFIP()
		svc := service(func(s *v1.Service) { s.Spec.LoadBalancerIP = mine.FloatingIP })
		r.ensure(svc)
		if f := r.fips()[0]; len(f.Tags) > 0 {
			t.Errorf("tags %q", f.Tags)
		}
		annotate("keep-floatingip", "true")(svc)
		r.ensure(svc)
		delete(svc.Annotations, annotation.KeyKeepFloatingIP)
		r.ensure(svc)
		r.steady(svc)
		r.remove(svc)
		r.dropFIPs()
	})
}

// Clusters of one name with Services of one name may both name a load balancer by its ID. The first change marks it,
// and then it is refused to the other cluster.
func TestLoadBalancerNamedByTwoClustersIsOfTheFirstThatMarksIt(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		r.uid = otherUID
		r.restart()
		annotate("timeout-client-data", "60000")(svc)
		r.ensure(svc)
		members := r.membersAt(80)
		r.uid, r.nodes = clusterUID, nil
		r.launch("mine")
		r.restart()
		r.ensureError(svc, "belongs to another cluster")
		_ = r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
		r.remove(svc)
		if got := r.membersAt(80); len(got) != len(members) || len(r.mutations()) > 0 {
			t.Errorf("members %v, were %v; changes %v", got, members, r.mutations())
		}
		r.clear()
	})
}

// A denied deletion is no deletion: the Service keeps its finalizer, and its load balancer keeps its address. So does a
// Service that shares a load balancer.
func TestDeniedDeletionIsNoDeletion(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service()
		address := r.ensure(svc).Ingress[0].IP
		denied := kit.Fault{Kind: kit.FaultDenied, Operation: "DeleteLoadBalancer", Times: kit.Always}
		r.front.SetFaults(denied)
		for range 2 {
			err := r.manager.EnsureLoadBalancerDeleted(r.t.Context(), r.cluster, svc)
			if !cloudapi.Is(err, cloudapi.Denied) || !strings.Contains(err.Error(), r.balancer().ID) {
				t.Errorf("the deletion returns %v", err)
			}
			if _, exists, err := r.manager.GetLoadBalancer(r.t.Context(), r.cluster, svc); !exists || err != nil {
				t.Errorf("the load balancer exists: %t, %v", exists, err)
			}
			r.restart()
		}
		if fips := r.fips(); len(fips) != 1 || fips[0].FloatingIP != address || fips[0].PortID == "" {
			t.Errorf("floating IPs %+v, want %s attached", fips, address)
		}
		r.front.SetFaults()
		r.remove(svc)
		r.nothing()
	})
}
