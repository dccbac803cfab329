package loadbalancer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestIPv6FirstServiceNeedsNoSubnetID(t *testing.T) {
	for _, families := range [][]v1.IPFamily{
		{v1.IPv6Protocol}, {v1.IPv6Protocol, v1.IPv4Protocol}, {v1.IPv4Protocol, v1.IPv6Protocol}, {v1.IPv4Protocol},
	} {
		t.Run(string(families[0])+string(families[len(families)-1]), func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
				r.settings.SubnetID = ""
				r.restart()
				svc := service(internal, func(s *v1.Service) { s.Spec.IPFamilies = families })
				status := r.ensure(svc)
				if len(status.Ingress) != len(families) || model.FamilyOf(status.Ingress[0].IP) != families[0] {
					t.Errorf("status %+v, want addresses of %v", status, families)
				}
				if lb := r.balancer(); model.FamilyOf(lb.VipAddress) != families[0] {
					t.Errorf("VIP %s, want %s", lb.VipAddress, families[0])
				}
				for _, m := range r.membersAt(80) {
					if model.FamilyOf(m.Address) != families[0] {
						t.Errorf("member %+v, want %s", m, families[0])
					}
				}
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// place is a network in which a load balancer is to get its address.
type place struct{ network, v4, v6 string }

// addPlace adds a network with subnets of these ranges.
func (r *rig) addPlace(name string, ranges ...string) place {
	r.t.Helper()
	var p place
	for i, text := range ranges {
		prefix := netip.MustParsePrefix(text)
		var id string
		var err error
		if i == 0 {
			p.network, id, err = r.sim.AddNetwork(name, prefix, false)
		} else {
			id, err = r.sim.AddSubnet(p.network, fmt.Sprintf("%s-%d", name, i), prefix)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if prefix.Addr().Is6() {
			p.v6 = id
		} else {
			p.v4 = id
		}
	}
	return p
}

func families(list ...v1.IPFamily) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.IPFamilies = list }
}

// A subnet of the other family in the configuration or in an annotation selects its network: the load balancer gets its
// address from the first subnet of the Service's family there, in the order of names.
func TestSubnetOfAnotherFamilySelectsItsNetwork(t *testing.T) {
	const v4, v6 = "10.9.0.0/24", "2001:db8:b::/64"
	for name, test := range map[string]struct {
		families []v1.IPFamily
		ranges   []string
		set      func(*rig, *v1.Service, place)
		want     func(place) []string
	}{
		"IPv6, subnet-id of the configuration": {
			families: []v1.IPFamily{v1.IPv6Protocol}, ranges: []string{v4, v6},
			set:  func(r *rig, _ *v1.Service, p place) { r.settings.SubnetID = p.v4 },
			want: func(p place) []string { return []string{p.v6} },
		},
		"IPv6, subnet-id of the Service": {
			families: []v1.IPFamily{v1.IPv6Protocol}, ranges: []string{v4, v6},
			set:  func(_ *rig, s *v1.Service, p place) { annotate("subnet-id", p.v4)(s) },
			want: func(p place) []string { return []string{p.v6} },
		},
		"IPv6, subnet-id of the class": {
			families: []v1.IPFamily{v1.IPv6Protocol}, ranges: []string{v4, v6},
			set: func(r *rig, s *v1.Service, p place) {
				r.settings.Classes = map[string]Place{"inner": {SubnetID: p.v4}}
				annotate("class", "inner")(s)
			},
			want: func(p place) []string { return []string{p.v6} },
		},
		"IPv6, network-id of the configuration": {
			families: []v1.IPFamily{v1.IPv6Protocol}, ranges: []string{v4, v6},
			set:  func(r *rig, _ *v1.Service, p place) { r.settings.SubnetID, r.settings.NetworkID = "", p.network },
			want: func(p place) []string { return []string{p.v6} },
		},
		"IPv4, subnet-id of the configuration": {
			families: []v1.IPFamily{v1.IPv4Protocol}, ranges: []string{v6, v4},
			set:  func(r *rig, _ *v1.Service, p place) { r.settings.SubnetID = p.v6 },
			want: func(p place) []string { return []string{p.v4} },
		},
		"IPv6 and IPv4, subnet-id of the configuration": {
			families: []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}, ranges: []string{v4, v6, "10.8.0.0/24"},
			set: func(r *rig, _ *v1.Service, p place) {
				p.v4 = r.firstSubnet(p.network, 4)
				r.settings.SubnetID = p.v4
			},
			want: func(p place) []string { return []string{p.v6, ""} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
				p := r.addPlace("place", test.ranges...)
				svc := service(internal, families(test.families...))
				test.set(r, svc, p)
				r.restart()
				status := r.ensure(svc)
				if creations := r.mutations(); !slices.Equal(creations, []string{"CreateLoadBalancer"}) {
					t.Errorf("changes %v", creations)
				}
				lb := r.balancer()
				if want := test.want(p); lb.VipSubnetID != want[0] || len(status.Ingress) != len(want) {
					t.Errorf("subnet %s, want %v; status %+v", lb.VipSubnetID, want, status)
				}
				for i, ingress := range status.Ingress {
					if model.FamilyOf(ingress.IP) != test.families[i] {
						t.Errorf("status %+v, want %v", status, test.families)
					}
				}
				for _, m := range r.membersAt(80) {
					if model.FamilyOf(m.Address) != test.families[0] {
						t.Errorf("member %+v, want %s", m, test.families[0])
					}
				}
				// A subnet that comes before the other one by name is for new load balancers.
				if _, err := r.sim.AddSubnet(p.network, "a", netip.MustParsePrefix("2001:db8:a0::/64")); err != nil {
					t.Fatal(err)
				}
				if _, err := r.sim.AddSubnet(p.network, "a4", netip.MustParsePrefix("10.10.0.0/24")); err != nil {
					t.Fatal(err)
				}
				r.steady(svc)
				if events := r.events(); len(events) > 0 {
					t.Errorf("events %q", events)
				}
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// firstSubnet returns the first subnet of a version, by name.
func (r *rig) firstSubnet(network string, version int) string {
	r.t.Helper()
	subnets, err := r.api.ListSubnets(r.t.Context(), network)
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortFunc(subnets, func(a, b api.Subnet) int { return strings.Compare(a.Name, b.Name) })
	i := slices.IndexFunc(subnets, func(s api.Subnet) bool { return s.IPVersion == version })
	return subnets[i].ID
}

// Without a subnet of the Service's family in the network, the plan has the problem, and Octavia is not asked.
func TestNetworkWithoutSubnetOfTheFamilyIsAProblem(t *testing.T) {
	const v4, v6 = "10.9.0.0/24", "2001:db8:b::/64"
	for name, test := range map[string]struct {
		family v1.IPFamily
		only   string
		set    func(*rig, *v1.Service, place)
		texts  []string
	}{
		"IPv6, subnet-id of the configuration": {
			family: v1.IPv6Protocol, only: v4,
			set:   func(r *rig, _ *v1.Service, p place) { r.settings.SubnetID = p.v4 },
			texts: []string{"spec.ipFamilies", "subnet-id in section [LoadBalancer]", "has no IPv6 subnet", annotation.KeySubnetID},
		},
		"IPv6, subnet-id of the Service": {
			family: v1.IPv6Protocol, only: v4,
			set:   func(_ *rig, s *v1.Service, p place) { annotate("subnet-id", p.v4)(s) },
			texts: []string{annotation.KeySubnetID, "has no IPv6 subnet", "spec.ipFamilies"},
		},
		"IPv6, class": {
			family: v1.IPv6Protocol, only: v4,
			set: func(r *rig, s *v1.Service, p place) {
				r.settings.Classes = map[string]Place{"inner": {SubnetID: p.v4}}
				annotate("class", "inner")(s)
			},
			texts: []string{annotation.KeyClass, "inner", "has no IPv6 subnet", "spec.ipFamilies"},
		},
		"IPv6, network-id of the Service": {
			family: v1.IPv6Protocol, only: v4,
			set:   func(_ *rig, s *v1.Service, p place) { annotate("network-id", p.network)(s) },
			texts: []string{annotation.KeyNetworkID, "has no IPv6 subnet", "spec.ipFamilies"},
		},
		"IPv4, subnet-id of the configuration": {
			family: v1.IPv4Protocol, only: v6,
			set:   func(r *rig, _ *v1.Service, p place) { r.settings.SubnetID = p.v6 },
			texts: []string{"spec.ipFamilies", "subnet-id in section [LoadBalancer]", "has no IPv4 subnet"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
				p := r.addPlace("place", test.only)
				svc := service(internal, families(test.family))
				test.set(r, svc, p)
				r.restart()
				err := r.ensureError(svc, test.texts...)
				if !cloudapi.Is(err, cloudapi.Invalid) || len(r.mutations()) > 0 {
					t.Errorf("error %v, changes %v", err, r.mutations())
				}
				if _, err := r.sim.AddSubnet(p.network, "other", netip.MustParsePrefix(map[bool]string{true: "10.9.1.0/24", false: "2001:db8:d::/64"}[test.family == v1.IPv4Protocol])); err != nil {
					t.Fatal(err)
				}
				r.sleep(2 * time.Second)
				r.ensure(svc) // the subnets are read again
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// A load balancer that has its address stays in its subnet, whatever its network has: also one that an Octavia without
// allowed CIDRs has accepted, and one that another manager placed elsewhere before the annotation was changed.
func TestExistingLoadBalancerStaysInItsSubnet(t *testing.T) {
	bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
		p := r.addPlace("place", "10.9.0.0/24", "2001:db8:b::/64")
		svc := service(internal, families(v1.IPv6Protocol), annotate("subnet-id", p.v4))
		for _, subnet := range []string{p.v4, p.v6} {
			spec := loadbalancers.CreateOpts{Name: lbName("web"), Tags: []string{lbName("web")}, VipSubnetID: subnet, Provider: "amphora"}
			lb, err := r.api.CreateLoadBalancer(r.t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			r.awaitActive()
			annotate("load-balancer-id", lb.ID)(svc)
			r.restart()
			_, _ = r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
			if now := r.balancer(); now.ID != lb.ID || now.VipSubnetID != subnet {
				t.Errorf("load balancer %+v, was %+v", now, lb)
			}
			if m := r.mutations(); slices.Contains(m, "CreateLoadBalancer") || slices.Contains(m, "DeleteLoadBalancer") {
				t.Errorf("changes %v", m)
			}
			r.remove(svc)
			r.restart()
		}
		r.nothing()
	})
}

// Replacing a load balancer is refused before the deletion if its successor would have no subnet.
func TestReplacementWithoutSubnetOfTheFamilyDeletesNothing(t *testing.T) {
	bubble(t, sim.Options{IPv6: true}, Settings{}, func(r *rig) {
		svc := service(internal)
		r.ensure(svc)
		p := r.addPlace("place", "2001:db8:b::/64")
		annotate("subnet-id", p.v6)(svc)
		r.sleep(2 * time.Second)
		r.front.Log().Reset()
		r.ensureError(svc, annotation.KeySubnetID, "has no IPv4 subnet")
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("changes %v", m)
		}
		delete(svc.Annotations, annotation.KeySubnetID)
		r.remove(svc)
		r.nothing()
	})
}

// A client that may not list subnets creates load balancers as before.
func TestSubnetsThatMayNotBeListedAreNoProblem(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		r.front.SetFaults(kit.Fault{Kind: kit.FaultDenied, Operation: "ListSubnets", Times: kit.Always})
		svc := service(internal, annotate("subnet-id", r.privateSubnet))
		r.ensure(svc)
		r.front.SetFaults()
		r.remove(svc)
		r.nothing()
	})
}
