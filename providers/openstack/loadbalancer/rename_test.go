package loadbalancer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// After a change of --cluster-name, the other manager finds a load balancer by the ID in the annotation alone, and renames
// one with the prefix kube_service_ and the name of another cluster, with all of its parts. Without the annotation it
// looks for the new name and for the earlier one with the Service's UID, and creates a second load balancer.

// renameCluster has what the other manager leaves for a Service of the cluster kubernetes, and a manager with another
// --cluster-name.
func renameCluster(t *testing.T, l legacy, test func(r *rig, svc *v1.Service, lb api.LoadBalancer)) {
	t.Helper()
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		l.r, l.svc = r, service()
		lb := l.balancer()
		annotate("load-balancer-id", lb.ID)(l.svc)
		r.cluster = "renamed"
		r.restart()
		test(r, l.svc, lb)
	})
}

// replaceNodes gives the cluster other nodes: the members of existing load balancers are not its own.
func (r *rig) replaceNodes() {
	r.nodes = nil
	r.launch("other-0")
	r.restart()
}

// setAddress writes the address of a load balancer into the Service's status.
func (r *rig) setAddress(svc *v1.Service, lb api.LoadBalancer) {
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: r.addressOf(lb)}}
}

// objectIDs returns the IDs of all objects but members.
func (r *rig) objectIDs() []string {
	r.t.Helper()
	ctx := r.t.Context()
	var ids []string
	balancers, err := r.api.ListLoadBalancers(ctx)
	for _, lb := range balancers {
		ids = append(ids, "load balancer "+lb.ID)
	}
	listeners, err2 := r.api.ListListeners(ctx, "")
	for _, l := range listeners {
		ids = append(ids, "listener "+l.ID)
	}
	pools, err3 := r.api.ListPools(ctx, "")
	for _, p := range pools {
		ids = append(ids, "pool "+p.ID)
	}
	for _, f := range r.fips() {
		ids = append(ids, "floating IP "+f.ID+" at "+f.PortID)
	}
	if err := cmp.Or(err, err2, err3); err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

func (r *rig) wantRenamed(lb api.LoadBalancer) {
	r.t.Helper()
	now := r.balancer()
	if now.ID != lb.ID || now.Name != "kube_service_renamed_default_web" || slices.Contains(now.Tags, lb.Name) ||
		!slices.Contains(now.Tags, now.Name) {
		r.t.Errorf("load balancer %+v", now)
	}
}

// The proof that a load balancer with the name of another cluster is this Service's: a node of this cluster is a member of
// its own listeners, or its address is in the Service's status. It gets the new name as one with the mark does. The
// listeners get the new tag before, and no other object changes.
func TestFollowLoadBalancerOfEarlierClusterName(t *testing.T) {
	for _, proof := range []string{"member", "address"} {
		for _, untagged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, untagged %t", proof, untagged), func(t *testing.T) {
				renameCluster(t, legacy{untagged: untagged}, func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
					address, want := r.addressOf(lb), []string{"UpdateListener", "UpdateListener", "AddTag", "UpdateLoadBalancer"}
					if proof == "address" {
						r.replaceNodes()
						r.setAddress(svc, lb)
						want = append(want, "BatchUpdateMembers", "BatchUpdateMembers")
					}
					before := r.objectIDs()
					if got := r.ensure(svc).Ingress[0].IP; got != address {
						t.Errorf("address %s, was %s", got, address)
					}
					slices.Sort(want)
					changes := r.mutations()
					slices.Sort(changes)
					if !slices.Equal(slices.Compact(changes), slices.Compact(want)) || len(changes) > len(want)+1 {
						t.Errorf("changes %v, want %v", changes, want)
					}
					r.wantRenamed(lb)
					if after := r.objectIDs(); !slices.Equal(after, before) {
						t.Errorf("objects %v, were %v", after, before)
					}
					r.steady(svc)
					r.remove(svc)
					r.nothing()
				})
			})
		}
	}
}

// Without a proof, the name of the Service is that of one in another cluster, whatever ID the Service names: users write it.
// Neither a sync, nor nodes that join, nor a deletion changes the load balancer.
func TestLoadBalancerOfAnotherClusterIsNotFollowed(t *testing.T) {
	for name, change := range map[string]func(*rig, *v1.Service, api.LoadBalancer){
		"no proof": func(*rig, *v1.Service, api.LoadBalancer) {},
		"an address of another one": func(_ *rig, svc *v1.Service, _ api.LoadBalancer) {
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "172.24.4.200"}}
		},
		"another namespace": func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
			r.setAddress(svc, lb)
			svc.Namespace = "shop"
		},
		"the mark of another cluster": func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
			r.setAddress(svc, lb)
			r.tag(lb, "unified-ccm:cluster="+otherUID)
		},
		"a guest of another cluster": func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
			r.setAddress(svc, lb) // a guest has the owner's
			r.tag(lb, "kube_service_third_default_web")
		},
	} {
		t.Run(name, func(t *testing.T) {
			renameCluster(t, legacy{}, func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
				r.replaceNodes()
				change(r, svc, lb)
				before := r.records(true)
				r.restart()
				r.ensureError(svc, annotation.KeyLoadBalancerID, lb.ID)
				_ = r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
				r.remove(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes %v", m)
				}
				if after := r.records(true); !slices.Equal(after, before) {
					t.Errorf("objects %v, were %v", after, before)
				}
				r.clear()
			})
		})
	}
}

// Clusters in networks of their own may have one address twice: it does not show which of two load balancers is meant.
func TestAddressOfTwoLoadBalancersIsNoProofOfAnEarlierClusterName(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		own, err := r.api.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{
			Name: "kube_service_kubernetes_default_web", VipSubnetID: r.privateSubnet, VipAddress: "10.0.200.1",
		})
		if err != nil {
			r.t.Fatal(err)
		}
		_, subnet, err := r.sim.AddNetwork("other", netip.MustParsePrefix("10.0.0.0/16"), false)
		if err != nil {
			r.t.Fatal(err)
		}
		other, err := r.api.CreateLoadBalancer(r.t.Context(), loadbalancers.CreateOpts{
			Name: "kube_service_other_default_web", VipSubnetID: subnet, VipAddress: own.VipAddress,
		})
		if err != nil {
			r.t.Fatal(err)
		}
		r.awaitActive()
		r.setAddress(svc, own)
		annotate("load-balancer-id", other.ID)(svc)
		r.cluster = "renamed"
		r.restart()
		r.ensureError(svc, other.ID)
		r.remove(svc)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		r.clear()
	})
}

// tag adds a tag to a load balancer.
func (r *rig) tag(lb api.LoadBalancer, tag string) {
	r.t.Helper()
	all := append(slices.Clone(lb.Tags), tag)
	if _, err := r.api.UpdateLoadBalancer(r.t.Context(), lb.ID, loadbalancers.UpdateOpts{Tags: &all}); err != nil {
		r.t.Fatal(err)
	}
	r.awaitActive()
}

// A Service that shares the load balancer of a Service of its name in another cluster has its address in the status, and
// its own nodes are members there. It stays a guest; the other manager makes it the owner.
func TestGuestOfAServiceOfItsNameInAnotherClusterStaysAGuest(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		owner := legacy{r: r, svc: service(), cluster: "other"}
		lb := owner.balancer()
		r.replaceNodes()
		guest := service(func(s *v1.Service) {
			s.Spec.Ports = []v1.ServicePort{{Name: "alt", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 30808}}
		}, annotate("load-balancer-id", lb.ID))
		r.setAddress(guest, lb)
		legacy{r: r, svc: guest}.join(lb)
		r.awaitActive()
		r.restart()
		before := r.records(true)
		r.ensure(guest)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		r.cluster = "renamed"
		r.restart()
		_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, guest, r.nodes)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes after the cluster got another name: %v", m)
		}
		if after := r.records(true); !slices.Equal(after, before) {
			t.Errorf("objects %v, were %v", after, before)
		}
		r.clear()
	})
}

// An interruption at any write leaves a load balancer that the next sync completes: its name changes last, because the
// listeners with the tag of the earlier one are found by it.
func TestRenameContinuesAfterAnInterruption(t *testing.T) {
	for _, marked := range []bool{false, true} {
		for _, kind := range []kit.FaultKind{kit.FaultError, kit.FaultKillBefore, kit.FaultKillAfter} {
			for call := range 6 {
				t.Run(fmt.Sprintf("marked %t, %s %d", marked, kind, call+1), func(t *testing.T) {
					bubble(t, sim.Options{}, Settings{}, func(r *rig) {
						svc := service()
						if marked {
							r.ensure(svc)
						} else {
							legacy{r: r, svc: svc}.balancer()
						}
						lb := r.balancer()
						before := r.objectIDs()
						annotate("load-balancer-id", lb.ID)(svc)
						r.cluster = "renamed"
						r.restart()
						r.front.SetFaults(kit.Fault{Kind: kind, Mutating: true, Call: call + 1})
						_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
						r.front.SetFaults()
						r.front.Revive()
						r.sleep(time.Minute)
						r.restart()
						r.ensure(svc)
						r.wantRenamed(lb)
						if now := r.objectIDs(); !slices.Equal(now, before) {
							t.Errorf("objects %v, were %v", now, before)
						}
						r.steady(svc)
						r.remove(svc)
						r.nothing()
					})
				})
			}
		}
	}
}

// A Service that is deleted before the first sync with the new name leaves nothing.
func TestDeleteLoadBalancerOfEarlierClusterName(t *testing.T) {
	renameCluster(t, legacy{}, func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
		r.setAddress(svc, lb)
		r.remove(svc)
		r.nothing()
	})
}

// Nodes join a load balancer of the earlier name also while the Service is invalid.
func TestMembersOfEarlierClusterNameFollowNodes(t *testing.T) {
	renameCluster(t, legacy{}, func(r *rig, svc *v1.Service, lb api.LoadBalancer) {
		r.setAddress(svc, lb)
		annotate("timeout-client-data", "soon")(svc)
		r.launch("node-3")
		_ = r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
		if n := len(r.membersAt(80)); n != 4 {
			t.Errorf("%d members, want 4", n)
		}
		delete(svc.Annotations, annotation.Prefix+"timeout-client-data")
		r.ensure(svc)
		r.wantRenamed(lb)
		r.remove(svc)
		r.nothing()
	})
}
