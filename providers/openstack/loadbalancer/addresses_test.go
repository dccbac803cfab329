package loadbalancer

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/apply"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// limitedNetwork is an API with restrictions that a cloud may have.
type limitedNetwork struct {
	*api.Clients
	// hidden hides external networks, deniesTags denies tags.
	hidden, deniesTags bool
	// tagged counts the requests to add a tag.
	tagged int
	// refused is the error of floating IPs in one subnet.
	refused map[string]error
}

func (n *limitedNetwork) ListExternalNetworks(ctx context.Context) ([]api.NeutronNetwork, error) {
	if n.hidden {
		return nil, nil
	}
	return n.Clients.ListExternalNetworks(ctx)
}

func (n *limitedNetwork) AddTag(ctx context.Context, kind, id, tag string) error {
	n.tagged++
	if n.deniesTags {
		return &cloudapi.Error{Class: cloudapi.Denied, Operation: "AddTag", Err: errors.New("HTTP 403")}
	}
	return n.Clients.AddTag(ctx, kind, id, tag)
}

func (n *limitedNetwork) CreateFloatingIP(ctx context.Context, o floatingips.CreateOpts) (api.FloatingIP, error) {
	if err := n.refused[o.SubnetID]; err != nil {
		return api.FloatingIP{}, err
	}
	return n.Clients.CreateFloatingIP(ctx, o)
}

// limit restricts the API of the managers that start from now on.
func (r *rig) limit(n *limitedNetwork) {
	r.wrap = func(clients *api.Clients) API {
		n.Clients = clients
		return n
	}
	r.restart()
}

func TestKeepFloatingIPIsReadAtDeletion(t *testing.T) {
	for _, tt := range []struct {
		name       string
		before, at string
		kept       bool
	}{
		{name: "set since the last sync", at: "true", kept: true},
		{name: "unset since the last sync", before: "true", at: "false"},
		{name: "never set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			svc := service()
			takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
				set := func(value string) {
					if delete(svc.Annotations, annotation.KeyKeepFloatingIP); value != "" {
						svc.Annotations[annotation.KeyKeepFloatingIP] = value
					}
				}
				set(tt.before)
				r.ensure(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes %v", m)
				}
				set(tt.at)
				r.restart()
				r.remove(svc)
				if kept := len(r.fips()) == 1; kept != tt.kept {
					t.Fatalf("kept is %t, want %t", kept, tt.kept)
				}
				for _, f := range r.fips() {
					if f.PortID != "" || !slices.Contains(f.Tags, names.KeepTag) {
						t.Errorf("kept %+v", f)
					}
				}
				r.remove(svc)
				if kept := len(r.fips()) == 1; kept != tt.kept {
					t.Error("the second deletion took the kept floating IP")
				}
				r.dropFIPs()
			})
		})
	}
}

func TestAttachedFloatingIPStaysWithoutVisibleNetwork(t *testing.T) {
	svc := service()
	takeOver(t, sim.Options{}, svc, func(r *rig, lb api.LoadBalancer) {
		address := r.fips()[0].FloatingIP
		r.settings.FloatingNetworkID = ""
		r.limit(&limitedNetwork{hidden: true})
		if got := r.ensure(svc).Ingress[0].IP; got != address {
			t.Errorf("the address is %s, was %s", got, address)
		}
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		if todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{}); err != nil || len(todo.Held) > 0 {
			t.Errorf("held %v, error %v", todo.Held, err)
		}
		r.remove(svc)
		r.nothing()
	})
}

func TestUnknownClusterUIDProvesNothing(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		orphan := r.describedFIP()
		marked := service()
		r.uid = otherUID
		r.restart()
		r.ensure(marked)
		r.uid = ""
		r.restart()
		r.ensureError(marked, "cannot be read")
		r.remove(marked)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		nodes, unmarked := r.nodes, service(named("other"))
		r.nodes = nil
		r.left(unmarked, lbName("other"), true)
		r.nodes = nodes
		r.restart()
		r.ensureError(unmarked, "nothing shows that it is this cluster's")
		r.remove(unmarked)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		if !slices.ContainsFunc(r.fips(), func(f api.FloatingIP) bool { return f.ID == orphan.ID }) {
			t.Error("the orphaned floating IP was deleted")
		}
		// What this manager creates meanwhile is its own.
		own := service(named("own"))
		r.nodes = nil
		r.ensure(own)
		r.restart()
		r.ensure(own)
		r.remove(own)
		if r.sim.Objects()["load-balancers"] != 2 {
			t.Errorf("%d load balancers", r.sim.Objects()["load-balancers"])
		}
		r.clear()
	})
}

func TestTagOfOtherClusterIsNotOurs(t *testing.T) {
	for name, marked := range map[string]bool{"on a load balancer with its mark": true, "on one without a mark": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				r.uid = otherUID
				r.restart()
				owner, guest := service(named("other"), onPorts(80)), service(onPorts(8080))
				if marked {
					r.ensure(owner)
				} else {
					legacy{r: r, svc: owner}.balancer()
				}
				shared := r.balancer()
				annotate("load-balancer-id", shared.ID)(guest)
				r.ensure(guest)
				if !marked {
					before := r.balancer().Tags
					if names.ClusterUID(before) != "" {
						t.Fatalf("tags %q", before)
					}
				}
				theirs := r.membersAt(8080)
				r.uid, r.nodes = clusterUID, nil
				r.launch("mine")
				r.restart()
				svc := service(onPorts(8080))
				if marked {
					r.ensure(svc)
					r.steady(svc)
				} else {
					r.ensureError(svc, "nothing shows that they are this cluster's")
				}
				r.remove(svc)
				if got := r.membersAt(8080); len(got) != len(theirs) || got[0].Name == "mine" {
					t.Errorf("members %v, were %v", got, theirs)
				}
				if n := r.sim.Objects()["load-balancers"]; n != 1 || r.balancer().ID != shared.ID {
					t.Errorf("%d load balancers", n)
				}
				r.clear()
			})
		})
	}
}

func TestDeniedTagsOfFloatingIPs(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.limit(&limitedNetwork{deniesTags: true})
		svc := service()
		if status := r.ensure(svc); status.Ingress[0].IP != r.fips()[0].FloatingIP {
			t.Errorf("status %+v", status)
		}
		r.ensure(svc)
		r.wantEvent("Neutron denies this manager the tags of floating IPs")
		r.remove(svc)
		r.nothing()
	})
}

// Denied tags are tried again with backoff, without a second Event.
func TestDeniedTagsOfFloatingIPsAreRetried(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		network := &limitedNetwork{deniesTags: true}
		r.limit(network)
		svc := service()
		r.ensure(svc)
		r.ensure(svc)
		r.wantEvent("Neutron denies this manager the tags of floating IPs")
		tried := network.tagged
		for range 3 {
			r.sleep(time.Minute)
			r.ensure(svc)
		}
		if network.tagged != tried {
			t.Errorf("%d attempts within minutes, want none", network.tagged-tried)
		}
		r.sleep(apply.MinTagsBackoff)
		r.ensure(svc)
		r.sleep(apply.MinTagsBackoff)
		r.ensure(svc)
		if network.tagged != tried+1 {
			t.Errorf("%d attempts after two pauses, want one", network.tagged-tried)
		}
		r.sleep(4 * apply.MinTagsBackoff)
		current := func() (*v1.Service, []*v1.Node) { return svc, r.nodes }
		if _, _, err := r.manager.AuditLoadBalancer(r.t.Context(), r.cluster, current); err != nil {
			t.Error(err)
		}
		if network.tagged != tried+2 {
			t.Errorf("%d attempts with an audit, want two", network.tagged-tried)
		}
		for _, e := range r.events() {
			if strings.Contains(e, "Neutron denies") || strings.Contains(e, "floating IP") {
				t.Errorf("an Event about a retry: %s", e)
			}
		}
		network.deniesTags = false
		r.sleep(8 * apply.MinTagsBackoff)
		r.ensure(svc)
		if tags := r.fips()[0].Tags; names.ClusterUID(tags) != clusterUID {
			t.Errorf("tags %q, want the cluster's", tags)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

func TestFamilyOfAddressDecidesAboutFloatingIP(t *testing.T) {
	t.Run("an IPv6 address for a Service that prefers IPv4", func(t *testing.T) {
		bubble(t, sim.Options{IPv6: true, OctaviaVersion: "2.11"}, Settings{}, func(r *rig) {
			svc := service(annotate("subnet-id", r.sim.Places().PrivateSubnet6))
			status := r.ensure(svc)
			if lb := r.balancer(); len(r.fips()) != 0 || len(status.Ingress) != 1 || status.Ingress[0].IP != lb.VipAddress {
				t.Errorf("status %+v, %d floating IPs", status, len(r.fips()))
			}
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	})
	t.Run("an IPv4 address with a floating IP for a Service that prefers IPv6", func(t *testing.T) {
		svc := service()
		takeOver(t, sim.Options{}, svc, func(r *rig, _ api.LoadBalancer) {
			address := r.fips()[0].FloatingIP
			svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}
			todo, err := r.manager.PlanLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes, lbcommon.PlanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range todo.Held {
				t.Errorf("held: %s", h.Ref)
			}
			for _, c := range todo.Changes {
				if c.Kind == observe.KindFloatingIP {
					t.Errorf("planned: %s", c.Ref)
				}
			}
			if r.fips()[0].FloatingIP != address {
				t.Error("the floating IP changed")
			}
			r.remove(svc)
			r.nothing()
		})
	})
}

func TestNextFloatingSubnetIsTried(t *testing.T) {
	for _, tt := range []struct {
		class cloudapi.Class
		tried bool
	}{{cloudapi.Quota, true}, {cloudapi.Conflict, true}, {cloudapi.Invalid, true}, {cloudapi.NotFound, true}, {cloudapi.Denied, false}} {
		t.Run(string(tt.class), func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{}, func(r *rig) {
				network := r.sim.Places().PublicNetwork
				var subnets []string
				for _, s := range []struct{ name, prefix string }{{"tier-1", "198.51.100.0/24"}, {"tier-2", "203.0.113.0/24"}} {
					id, err := r.sim.AddSubnet(network, s.name, netip.MustParsePrefix(s.prefix))
					if err != nil {
						t.Fatal(err)
					}
					subnets = append(subnets, id)
				}
				refusal := &cloudapi.Error{Class: tt.class, Operation: "CreateFloatingIP", Err: errors.New("refused")}
				r.limit(&limitedNetwork{refused: map[string]error{subnets[0]: refusal}})
				svc := service(annotate("floating-subnet", "tier-*"))
				if !tt.tried {
					r.ensureError(svc, "refused")
				} else if ip := r.ensure(svc).Ingress[0].IP; !strings.HasPrefix(ip, "203.0.113.") {
					t.Errorf("the address is %s", ip)
				}
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A load balancer is not deleted for an address that Octavia would reject. All else is applied to it.
func TestAddressOutsideOfTheSubnetDeletesNothing(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		svc := service(internal)
		r.ensure(svc)
		lb := r.made()
		svc.Spec.LoadBalancerIP = "192.0.2.44"
		withPort8443(svc)
		r.ensureError(svc, intent.FieldLoadBalancerIP, "one of its subnet")
		if got := r.made(); got.ID != lb.ID || got.VipAddress != lb.VipAddress || r.listener(8443).ID == "" {
			t.Errorf("load balancer %+v, was %+v", got, lb)
		}
		svc.Spec.LoadBalancerIP = lb.VipAddress
		r.ensure(svc)
		r.remove(svc)
		r.nothing()
	})
}
