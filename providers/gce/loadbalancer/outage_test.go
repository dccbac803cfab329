package loadbalancer

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// A node that joins while its zone does not answer is a member when the zone answers again: the Service is synced until
// then.
func TestNodeThatJoinsInSilentZone(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s := internal(service("web", webUID, 80))
	nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-c", "node-2")}
	r.ensure(s, nodes...)
	r.clock.Step(snapshotAge)
	r.silent = []string{"r1-c"}
	r.update(s, nodes...) // nothing differs
	nodes = append(nodes, node("r1-c", "node-3"))
	if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("the zone does not answer: %v", err)
	}
	r.silent = nil
	r.update(s, nodes...)
	if have := r.membersOf(t, true); !slices.Equal(have, []string{"node-1", "node-2", "node-3"}) {
		t.Errorf("members %q", have)
	}
}

// A forwarding rule stays if its successor has no subnet, and stays in its own.
func TestRuleWithoutDefaultSubnet(t *testing.T) {
	t.Parallel()
	subnet := func(s *v1.Service) { internal(s).Annotations[annotation.KeySubnet] = "s" }
	for name, tc := range map[string]struct {
		before func(*v1.Service)
		cfg    config.Global
		edit   func(*v1.Service)
		text   string
		moves  bool
	}{
		"internal":             {func(*v1.Service) {}, config.Global{}, func(s *v1.Service) { internal(s) }, "has no subnet", false},
		"internal in a subnet": {func(*v1.Service) {}, config.Global{}, subnet, "", true},
		"a port, after the configuration had one": {func(s *v1.Service) { internal(s) }, config.Global{SubnetworkName: "s"},
			func(s *v1.Service) { s.Spec.Ports[0].Port = 81 }, "", false},
		"a port, and no annotation": {subnet, config.Global{}, func(s *v1.Service) {
			delete(s.Annotations, annotation.KeySubnet)
			s.Spec.Ports[0].Port = 81
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tc.cfg)
			r.custom = true
			r.put("regions/r1/subnetworks/s", map[string]any{"name": "s", "ipCidrRange": "10.0.0.0/16"})
			s, n := service("web", webUID, 80), node("r1-b", "node-1")
			tc.before(s)
			ip := r.ensure(s, n)
			r.restart(config.Global{})
			r.ensure(s, n)
			s = edit(s, tc.edit)
			if tc.text != "" {
				r.fails(tc.text, s, n)
				if rule := r.objects[rulePath+web]; rule == nil || rule["IPAddress"] != ip {
					t.Errorf("the forwarding rule is %v", rule)
				}
				return
			}
			if got := r.ensure(s, n); (got == ip) == tc.moves {
				t.Errorf("the address is %s, and was %s", got, ip)
			}
			if len(r.names("addresses")) > 0 {
				t.Errorf("addresses %q", r.names("addresses"))
			}
		})
	}
}

// An instance that was away for long is a member again when its node is back.
func TestInstanceThatWasAwayForLong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*v1.Service) *v1.Service
		path    string
	}{
		"external": {func(s *v1.Service) *v1.Service { return s }, poolPath}, "internal": {internal, groupPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, nodes := newMachines(t)
			s := tc.prepare(service("web", webUID, 80))
			r.ensure(s, nodes...)
			r.terminate(tc.path, "node-1")
			for range 15 { // syncs of other nodes
				r.clock.Step(time.Minute)
				_ = r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes)
			}
			r.clock.Step(time.Minute)
			r.launch("node-1")
			r.update(s, nodes...)
			if have := r.memberNames(tc.path); len(have) != 3 {
				t.Errorf("members %q", have)
			}
		})
	}
}

// A reservation that Compute Engine did not release is that of the next forwarding rule, if the present one is lost.
func TestReservationThatWasNotReleased(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	r.keepUsed = true
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	s = edit(s, func(s *v1.Service) { s.Spec.Ports[0].Port = 81 })
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address is %s, and was %s", got, ip)
	}
	s = edit(s, func(s *v1.Service) { s.Spec.Ports[0].Port = 82 })
	r.denied["forwardingRules.insert"] = true
	r.fails("forwardingRules.insert", s, n)
	r.denied["forwardingRules.insert"] = false
	if got := r.ensure(s, n); got != ip {
		t.Errorf("after an interruption, the address is %s, and was %s", got, ip)
	}
}

// All nodes of a zone may be replaced at once: the new ones join before the old ones leave.
func TestNewMembersOfGroupJoinFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s := internal(service("web", webUID, 80))
	r.ensure(s, node("r1-b", "node-1"))
	r.calls()
	r.update(s, node("r1-b", "node-2"))
	_, changes := r.calls()
	if !slices.Equal(changes, []string{"instanceGroups.addInstances", "instanceGroups.removeInstances"}) {
		t.Errorf("changes %q", changes)
	}
	r.denied["instanceGroups.removeInstances"] = true
	if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, []*v1.Node{node("r1-b", "node-3")}); err == nil {
		t.Error("no error")
	}
	if have := r.membersOf(t, true); !slices.Equal(have, []string{"node-2", "node-3"}) {
		t.Errorf("members %q", have)
	}
}

// A forwarding rule whose pool is replaced is back although a member cannot be added.
func TestMemberOfNewPoolDelaysNoForwardingRule(t *testing.T) {
	t.Parallel()
	r, nodes := newMachines(t)
	s := service("web", webUID, 80)
	ip := r.ensure(s, nodes...)
	r.terminate(poolPath, "node-3")
	r.put("regions/r1/targetPools/"+web, r.object(t, poolPath))
	r.denied["targetPools.addInstance"] = true
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, nodes)
	if err == nil {
		t.Error("no error")
	}
	if rule := r.objects[rulePath+web]; rule == nil || rule["IPAddress"] != ip {
		t.Errorf("the forwarding rule is %v", rule)
	}
	if err := errors.Unwrap(err); err != nil {
		t.Log(err)
	}
}

// A change of an object of all Services that does not end costs the wait of one Service, and keeps no others from what
// they need.
func TestStuckChangeOfSharedObject(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	one, two := internal(service("web", webUID, 80)), internal(service("db", dbUID, 5432))
	nodes := []*v1.Node{node("r1-b", "node-1")}
	r.ensure(one, nodes...)
	r.ensure(two, nodes...)
	nodes = append(nodes, node("r1-b", "node-2"))
	r.stuck["instanceGroups.addInstances"] = true
	r.calls()
	for _, s := range []*v1.Service{one, two, one} {
		if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes); !errors.Is(err, api.ErrRunning) {
			t.Errorf("error %v", err)
		}
	}
	r.verifyChanges("instanceGroups.addInstances")
	two = edit(two, func(s *v1.Service) { s.Spec.Ports[0].Port++ })
	if _, err := r.controller.EnsureLoadBalancer(t.Context(), "c", two, nodes); err == nil {
		t.Error("no error")
	}
	if ports := stringsOf(r.object(t, rulePath+db)["ports"]); !slices.Equal(ports, []string{"5433"}) {
		t.Errorf("ports %q", ports)
	}
	delete(r.stuck, "instanceGroups.addInstances")
	r.clock.Step(4 * time.Minute)
	r.update(two, nodes...)
	if have := r.memberNames(groupPath); len(have) != 2 {
		t.Errorf("members %q", have)
	}
}

// Many instances that do not exist cost one list, and those that are back are members again.
func TestManyAbsentInstances(t *testing.T) {
	t.Parallel()
	r, nodes := newMachines(t)
	s := service("web", webUID, 80)
	r.ensure(s, nodes...)
	for n := range 20 {
		nodes = append(nodes, node("r1-b", fmt.Sprint("ghost-", n)))
	}
	_ = r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes)
	for range 11 {
		r.clock.Step(time.Minute)
		_ = r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes)
	}
	r.calls()
	r.clock.Step(time.Minute)
	r.object(t, "zones/r1-b/instances/node-1")["zone"] = "zones/r1-b"
	r.put("zones/r1-b/instances/ghost-7", map[string]any{"name": "ghost-7", "zone": "zones/r1-b"})
	r.update(s, nodes...)
	if reads, changes := r.calls(); len(reads) > 8 || len(changes) != 1 {
		t.Errorf("reads %q, changes %q", reads, changes)
	}
	if have := r.memberNames(poolPath); len(have) != 4 {
		t.Errorf("members %q", have)
	}
}

// A firewall that moves to another network selects nodes as before while no tag is known: without tags it would apply
// to all instances of that network.
func TestFirewallOfOtherNetworkKeepsItsTags(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	r.environment.Network = "https://www.googleapis.com/compute/v1/projects/p/global/networks/other"
	r.restart(config.Global{SubnetworkName: "s"})
	r.tags = nil
	r.ensure(s)
	p := r.plan(s)
	s = s.DeepCopy()
	s.Annotations[intent.KeyApprove] = p.HeldID
	r.ensure(s)
	if r.object(t, firewallPath)["network"] != r.environment.Network {
		t.Errorf("the firewall is %v", r.object(t, firewallPath))
	}
	r.verifyTags(t, "nodes")
}
