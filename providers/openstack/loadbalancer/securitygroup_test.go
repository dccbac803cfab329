package loadbalancer

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// hasty is a cloud in which another client deletes a rule just before the manager does.
type hasty struct {
	API
	done bool
}

func (h *hasty) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	if !h.done {
		h.done = true
		if err := h.API.DeleteSecurityGroupRule(ctx, id); err != nil {
			return err
		}
	}
	return h.API.DeleteSecurityGroupRule(ctx, id)
}

// A rule that is not wanted any more and that another client has deleted meanwhile is as good as deleted:
// what comes after it is done too. Today's manager stops there, and says that all went well.
func TestDeletedSecurityGroupRuleIsIgnored(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		svc.Spec.Ports[0].NodePort, svc.Spec.Ports[1].NodePort = 31080, 31443
		r.launch("node-9")
		r.cloud.applier.API = &hasty{API: r.cloud.applier.API}
		r.sim.Front().Log().Reset()
		r.ensure(svc)
		var answers []int
		for _, call := range r.sim.Front().Log().Calls() {
			if call.Name == "DeleteSecurityGroupRule" {
				answers = append(answers, call.Status)
			}
		}
		if !slices.Equal(answers, []int{http.StatusNoContent, http.StatusNotFound, http.StatusNoContent}) {
			r.t.Errorf("the rules' deletions were answered %v, want the manager's first with 404 and its second with 204", answers)
		}
		if rules := r.ingressRules(); len(rules) != 2 || !slices.Contains(rules, "IPv4 tcp 31080-31080 from 10.0.0.0/16") || !slices.Contains(rules, "IPv4 tcp 31443-31443 from 10.0.0.0/16") {
			r.t.Errorf("rules %q", rules)
		}
		ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server("node-9")}})
		if err != nil || len(ports) != 1 || len(ports[0].SecurityGroups) != 2 {
			r.t.Errorf("the port of the new node is %+v, %v, want two groups", ports, err)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A node that joins while its Service is invalid becomes a member, and its port gets the Service's group: without it the
// node receives no traffic.
func TestNodeThatJoinsInvalidServiceGetsGroup(t *testing.T) {
	for _, driver := range []string{"amphora", model.ProviderOVN} {
		t.Run(driver, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{Provider: driver, ManageSecurityGroups: true}, func(r *rig) {
				svc := service()
				svc.Status.LoadBalancer = *r.ensure(svc)
				svc.Annotations[intent.KeyScheme] = "neither"
				groups := func(node string) int {
					ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server(node)}})
					if err != nil || len(ports) != 1 {
						r.t.Fatalf("ports of %s: %+v, %v", node, ports, err)
					}
					return len(ports[0].SecurityGroups)
				}
				for name, sync := range map[string]func(){
					"updated": func() { r.update(svc) },
					"synced":  func() { r.ensureError(svc, "neither") },
				} {
					r.launch(name)
					r.restart()
					sync()
					if members := r.membersAt(80); len(members) != len(r.nodes) {
						t.Errorf("%d members after %s joined, want %d", len(members), name, len(r.nodes))
					}
					if n := groups(name); n != 2 {
						t.Errorf("the port of %s has %d groups, want its own and the Service's", name, n)
					}
				}
				r.sim.Front().Log().Reset()
				r.restart()
				r.update(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes where there are none to make: %v", m)
				}
				delete(svc.Annotations, intent.KeyScheme)
				r.ensure(svc)
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}

// addNetwork adds a network with a subnet, and returns the IDs of both.
func (r *rig) addNetwork(prefix string) (network, subnet string) {
	r.t.Helper()
	network, subnet, err := r.sim.AddNetwork("other", netip.MustParsePrefix(prefix), false)
	if err != nil {
		r.t.Fatal(err)
	}
	return network, subnet
}

// attach attaches a port in a network to a server, at an address and with groups.
func (r *rig) attach(node, network, address string, groups ...string) api.Port {
	r.t.Helper()
	opts := ports.CreateOpts{NetworkID: network, DeviceID: r.sim.Server(node), DeviceOwner: "compute:az-1", SecurityGroups: &groups}
	if address != "" {
		opts.FixedIPs = []ports.IP{{IPAddress: address}}
	}
	created, err := ports.Create(r.t.Context(), connect(r.t, r.front, r.sim.Account()).services[api.Network], opts).Extract()
	if err != nil {
		r.t.Fatal(err)
	}
	port, err := r.api.GetPort(r.t.Context(), created.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return port
}

// serviceGroup returns the Service's security group, and the ports that have it.
func (r *rig) serviceGroup() (group api.SecurityGroup, ports []string) {
	r.t.Helper()
	groups, err := r.api.ListSecurityGroups(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, g := range groups {
		if strings.HasPrefix(g.Name, "lb-sg-") {
			group = g
		}
	}
	list, err := r.api.ListPorts(r.t.Context(), api.PortFilter{SecurityGroup: group.ID})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range list {
		ports = append(ports, p.ID)
	}
	return group, ports
}

// Networks may have overlapping addresses. A node with the address of a member in two networks receives the traffic in
// the member subnet.
func TestGroupIsAttachedToPortInMemberSubnet(t *testing.T) {
	for _, invalid := range []bool{false, true} {
		bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
			network, subnet := r.addNetwork("10.0.0.0/16")
			r.settings.MemberSubnetID = subnet
			r.restart()
			svc := service()
			if invalid {
				svc.Status.LoadBalancer = *r.ensure(svc)
				svc.Annotations[intent.KeyScheme] = "neither"
			}
			node := r.launch("joins")
			want := r.attach(node.Name, network, node.Status.Addresses[len(node.Status.Addresses)-1].Address)
			r.restart()
			if invalid {
				r.ensureError(svc, "neither")
			} else {
				r.ensure(svc)
			}
			first, err := r.api.ListPorts(t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server(node.Name)}})
			if err != nil {
				t.Fatal(err)
			}
			_, attached := r.serviceGroup()
			for _, p := range first {
				if has := slices.Contains(attached, p.ID); has != (p.ID == want.ID) {
					t.Errorf("invalid %t: the port %s in the subnet %s has the group: %t", invalid, p.ID, p.FixedIPs[0].SubnetID, has)
				}
			}
			delete(svc.Annotations, intent.KeyScheme)
			r.ensure(svc)
			r.steady(svc)
			r.remove(svc)
			r.nothing()
		})
	}
}

// Another manager, or an earlier configuration, may have attached the group to another port of a node that receives
// traffic, or to the port of a member that has no provider ID of this cloud.
func TestGroupStaysAtPortsOfMembers(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		network, _ := r.addNetwork("10.9.0.0/24")
		svc := service()
		r.ensure(svc)
		group, _ := r.serviceGroup()
		port := r.attach("node-0", network, "", group.ID)
		r.steady(svc)
		if _, attached := r.serviceGroup(); !slices.Contains(attached, port.ID) {
			t.Error("the group was detached from a port of a node that receives traffic")
		}
		left := r.nodes[2]
		r.nodes = r.nodes[:2]
		r.ensure(svc)
		if _, attached := r.serviceGroup(); len(attached) != 3 {
			t.Errorf("%d ports have the group after the node %s left, want 3", len(attached), left.Name)
		}
		r.remove(svc)
		r.nothing()
	})
}

// The clients of a dual-stack Service reach nodes at their IPv4 addresses only: the OVN driver does not translate.
func TestOVNGroupAllowsClientsOfMembersFamily(t *testing.T) {
	bubble(t, sim.Options{IPv6: true}, Settings{Provider: model.ProviderOVN, ManageSecurityGroups: true}, func(r *rig) {
		svc := service(func(s *v1.Service) {
			s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		})
		r.ensure(svc)
		want := []string{"IPv4 tcp 30080-30080 from 0.0.0.0/0", "IPv4 tcp 30443-30443 from 0.0.0.0/0"}
		rules := r.ingressRules()
		slices.Sort(rules)
		if !slices.Equal(rules, want) {
			t.Errorf("rules %q, want %q", rules, want)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// The amphorae of existing load balancers stay in the subnet that the configuration named when they were created.
func TestChangedSubnetKeepsRulesOfExistingMembers(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		_, r.settings.SubnetID = r.addNetwork("10.9.0.0/24")
		r.restart()
		r.ensure(svc)
		r.steady(svc)
		wantRules := func(want ...string) {
			t.Helper()
			rules := r.ingressRules()
			slices.Sort(rules)
			if !slices.Equal(rules, want) {
				t.Errorf("rules %q, want %q", rules, want)
			}
		}
		wantRules("IPv4 tcp 30080-30080 from 10.0.0.0/16", "IPv4 tcp 30080-30080 from 10.9.0.0/24",
			"IPv4 tcp 30443-30443 from 10.0.0.0/16", "IPv4 tcp 30443-30443 from 10.9.0.0/24")
		r.nodes = nil // no member is reached from the first subnet any more
		r.launch("joins")
		r.ensure(svc)
		r.ensure(svc)
		wantRules("IPv4 tcp 30080-30080 from 10.9.0.0/24", "IPv4 tcp 30443-30443 from 10.9.0.0/24")
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A removed rule stops traffic, so that it is a disruption, and the last change.
func TestRemovedRuleIsDisruption(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, Disruption: provider.HoldAllDisruption})
		svc.Spec.Ports[0].NodePort = 31080
		r.ensure(svc)
		if rules := r.ingressRules(); !slices.Contains(rules, "IPv4 tcp 30080-30080 from 10.0.0.0/16") ||
			!slices.Contains(rules, "IPv4 tcp 31080-31080 from 10.0.0.0/16") {
			t.Errorf("rules %q, want both node ports to be open", rules)
		}
		r.wantEvent("delete security group rules")
		r.restart()
		r.ensure(svc)
		if rules := r.ingressRules(); slices.Contains(rules, "IPv4 tcp 30080-30080 from 10.0.0.0/16") || len(rules) != 2 {
			t.Errorf("rules %q, want that of the former node port to be removed", rules)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// Earlier releases of another manager tagged the ports of nodes with the ID of the group.
func TestTagsWithGroupAreRemovedFromPorts(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		group, attached := r.serviceGroup()
		client := connect(t, r.front, r.sim.Account()).services[api.Network]
		for _, tag := range []string{group.ID, "mine"} {
			if err := attributestags.Add(t.Context(), client, "ports", attached[0], tag).ExtractErr(); err != nil {
				t.Fatal(err)
			}
		}
		r.restart()
		r.remove(svc)
		port, err := r.api.GetPort(t.Context(), attached[0])
		if err != nil || !slices.Equal(port.Tags, []string{"mine"}) {
			t.Errorf("tags %q, %v, want only those of others", port.Tags, err)
		}
		r.nothing()
	})
}
