package loadbalancer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

const (
	nodeCheck = "k8s-" + testCluster + "-node"
	group     = "k8s-ig--" + testCluster
)

func TestInternalLoadBalancer(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s := internal(service("web", webUID, 80))
	nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-c", "node-2")}
	ip := r.ensure(s, nodes...)
	r.verify(map[string][]string{
		"forwardingRules": {web}, "backendServices": {web}, "healthChecks": {nodeCheck}, "instanceGroups": {group, group},
		"firewalls": {"k8s-fw-" + web, nodeCheck + "-hc"},
	})
	r.clock.Step(snapshotAge)
	r.calls()
	if again := r.ensure(s, nodes...); again != ip {
		t.Errorf("address %s, then %s", ip, again)
	}
	reads, changes := r.calls()
	if len(changes) > 0 || len(reads) > 4+1+2 { // 4 lists, that of groups, and the members of each of them
		t.Errorf("without a change: reads %q, changes %q", reads, changes)
	}
	// One more Service changes no group.
	other := internal(service("db", dbUID, 5432))
	r.ensure(other, nodes...)
	r.verifyChanges("backendServices.insert", "forwardingRules.insert", "firewalls.insert")
	// One more node is one call for all Services.
	nodes = append(nodes, node("r1-c", "node-3"))
	r.update(s, nodes...)
	r.update(other, nodes...)
	r.verifyChanges("instanceGroups.addInstances")
	// A new zone is a group, and a backend of each Service.
	nodes = append(nodes, node("r1-d", "node-4"))
	r.update(s, nodes...)
	r.update(other, nodes...)
	r.verifyChanges("instanceGroups.insert", "instanceGroups.addInstances", "backendServices.update", "backendServices.update")
	r.remove(s)
	r.verify(map[string][]string{
		"forwardingRules": {db}, "backendServices": {db}, "healthChecks": {nodeCheck}, "instanceGroups": {group, group, group},
		"firewalls": {"k8s-fw-" + db, nodeCheck + "-hc"},
	})
	r.remove(other)
	r.verify(nil)
}

func TestInternalRule(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	r.calls()
	s = edit(s, func(s *v1.Service) { s.Annotations[annotation.KeyGlobalAccess] = "true" })
	r.ensure(s, n)
	r.verifyChanges("forwardingRules.patch")
	s = edit(s, func(s *v1.Service) { s.Spec.Ports = service("", "", 1, 2, 3, 4, 5, 6).Spec.Ports })
	if got := r.ensure(s, n); got != ip {
		t.Errorf("the address was %s and is %s", ip, got)
	}
	r.verifyChanges("addresses.insert", "forwardingRules.delete", "forwardingRules.insert", "addresses.delete", "firewalls.patch")
	if rule := r.object(t, "regions/r1/forwardingRules/"+web); !reflect.DeepEqual(rule["allPorts"], any(true)) || rule["ports"] != nil {
		t.Errorf("rule %v", rule)
	}
	r.put("regions/r1/subnetworks/other", map[string]any{"name": "other", "ipCidrRange": "10.1.0.0/16"})
	s = edit(s, func(s *v1.Service) { s.Annotations[annotation.KeySubnet] = "other" })
	if got := r.ensure(s, n); got == ip {
		t.Error("the address of the other subnet stays")
	}
	r.remove(s)
	r.verify(nil)
}

// A subnet that is not known, and URLs of other forms, never move the load balancer.
func TestInternalLoadBalancerStaysInItsSubnet(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	r.ensure(s, n)
	rule := r.object(t, "regions/r1/forwardingRules/"+web)
	rule["subnetwork"] = "https://compute.example.com/compute/v1/projects/p/regions/r1/subnetworks/s"
	rule["ports"] = []any{"80"}
	for _, cfg := range []config.Global{{}, {SubnetworkName: "s"}, {SubnetworkName: "projects/p/regions/r1/subnetworks/s"}} {
		r.restart(cfg)
		r.calls()
		r.ensure(s, n)
		r.verifyChanges()
		if held := r.plan(s, n).Held; len(held) > 0 {
			t.Errorf("with %+v, changes are held: %v", cfg, held)
		}
	}
}

func TestSharedBackendService(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	share := func(s *v1.Service) *v1.Service {
		s = internal(s)
		s.Annotations[annotation.KeyBackendShare] = "true"
		return s
	}
	s, other, n := share(service("web", webUID, 80)), share(service("db", dbUID, 81)), node("r1-b", "node-1")
	r.ensure(s, n)
	r.ensure(other, n)
	shared := "k8s-" + testCluster + "-internal-tcp-nmv1-6eef6648406c333a"
	r.verify(map[string][]string{
		"forwardingRules": {web, db}, "backendServices": {shared}, "healthChecks": {nodeCheck}, "instanceGroups": {group},
		"firewalls": {"k8s-fw-" + web, "k8s-fw-" + db, nodeCheck + "-hc"},
	})
	other = edit(other, func(s *v1.Service) { delete(s.Annotations, annotation.KeyBackendShare) })
	r.ensure(other, n)
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	r.ensure(s, n)
	r.verify(map[string][]string{
		"forwardingRules": {web, db}, "backendServices": {"k8s-" + testCluster + "-internal-tcp-nmv1-1668fd70f588116e", db},
		"healthChecks": {nodeCheck}, "instanceGroups": {group},
		"firewalls": {"k8s-fw-" + web, "k8s-fw-" + db, nodeCheck + "-hc"},
	})
	r.remove(s)
	r.remove(other)
	r.verify(nil)
}

// A deletion deletes what exists, whatever the annotations say.
func TestDeletionIgnoresAnnotations(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	r.ensure(s, n)
	r.remove(edit(s, func(s *v1.Service) { s.Annotations = nil }))
	r.verify(nil)
	s = service("web", webUID, 80)
	r.ensure(s, n)
	r.remove(edit(s, func(s *v1.Service) { s.Annotations = map[string]string{annotation.KeyRBS: "enabled"} }))
	r.verify(nil)
}

func TestObjectsOfOthersStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	// ingress-gce uses the group too.
	r.put("zones/r1-b/instanceGroups/"+group, map[string]any{"name": group,
		"zone": "https://www.googleapis.com/compute/v1/projects/p/zones/r1-b"})
	r.put("global/backendServices/k8s2-http", map[string]any{"name": "k8s2-http", "backends": []any{map[string]any{
		"group": "https://www.googleapis.com/compute/v1/projects/p/zones/r1-b/instanceGroups/" + group}}})
	r.ensure(s, n)
	backend := r.object(t, "regions/r1/backendServices/"+web)
	backend["connectionDraining"] = map[string]any{"drainingTimeoutSec": 30}
	backend["backends"] = append(backend["backends"].([]any), map[string]any{"group": "zones/r1-b/instanceGroups/mine", "failover": true})
	backend["backends"].([]any)[0].(map[string]any)["description"] = "by hand"
	check := r.object(t, "global/healthChecks/"+nodeCheck)
	check["checkIntervalSec"], check["logConfig"] = 30, map[string]any{"enable": true}
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	r.clock.Step(snapshotAge)
	r.calls()
	r.ensure(s, n)
	r.verifyChanges("backendServices.update")
	backend = r.object(t, "regions/r1/backendServices/"+web)
	want := []any{
		map[string]any{"group": "https://www.googleapis.com/compute/v1/projects/p/zones/r1-b/instanceGroups/" + group, "description": "by hand"},
		map[string]any{"group": "zones/r1-b/instanceGroups/mine", "failover": true},
	}
	if backend["sessionAffinity"] != api.AffinityClientIP || backend["connectionDraining"] == nil ||
		!reflect.DeepEqual(backend["backends"], want) {
		t.Errorf("backend service %v", backend)
	}
	// A zone joins at the end, and the others keep their settings.
	r.clock.Step(snapshotAge)
	r.ensure(s, n, node("r1-a", "node-2"))
	if got := r.object(t, "regions/r1/backendServices/"+web)["backends"].([]any); len(got) != 3 ||
		!reflect.DeepEqual(got[:2], want) {
		t.Errorf("with another zone: %v", got)
	}
	r.remove(s)
	if groups := r.names("instanceGroups"); !slices.Equal(groups, []string{group}) {
		t.Errorf("groups %q", groups)
	}
}

// One instance that was deleted keeps no other in the group, and none out of it.
func TestDeletedInstanceDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s := internal(service("web", webUID, 80))
	r.ensure(s, node("r1-b", "node-1"), node("r1-b", "node-2"), node("r1-b", "node-3"))
	r.object(t, "zones/r1-b/instanceGroups/"+group)
	r.memory.strict = true
	members := r.object(t, "zones/r1-b/instanceGroups/"+group)
	members["members"] = members["members"].([]any)[1:] // node-1 was deleted
	r.update(s, node("r1-b", "node-3"))
	if have := stringsOf(r.object(t, "zones/r1-b/instanceGroups/"+group)["members"]); len(have) != 1 || api.Last(have[0]) != "node-3" {
		t.Errorf("members %q", have)
	}
}

func TestNodeWithoutZoneLabelStays(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	r.ensure(s, n)
	r.calls()
	n = n.DeepCopy()
	n.Labels = nil
	r.update(s, n)
	r.verifyChanges()
}

func TestGroupsOfAnotherControllerAreUsed(t *testing.T) {
	t.Parallel()
	cfg := config.Global{SubnetworkName: "s", AlphaFeatures: []string{config.FeatureSkipGroups}}
	r := newRig(t, cfg)
	r.put("zones/r1-b/instanceGroups/"+group, map[string]any{"name": group,
		"zone": "https://www.googleapis.com/compute/v1/projects/p/zones/r1-b"})
	s := internal(service("web", webUID, 80))
	r.ensure(s, node("r1-b", "node-1"))
	r.verifyChanges("healthChecks.insert", "backendServices.insert", "forwardingRules.insert", "firewalls.insert",
		"firewalls.insert")
	if backends := r.object(t, "regions/r1/backendServices/"+web)["backends"]; len(backends.([]any)) != 1 {
		t.Errorf("backends %v", backends)
	}
	r.remove(s)
	r.verify(map[string][]string{"instanceGroups": {group}})
}

// The groups of another controller are those whose names begin as ours do, in zones with nodes.
func TestBackendsAreGroupsOfAnotherController(t *testing.T) {
	t.Parallel()
	type groups map[string][]string // names by zone
	for name, tc := range map[string]struct {
		groups groups
		nodes  []*v1.Node
		want   []string
		warns  bool
	}{
		"exact name":             {groups{"r1-b": {group}}, []*v1.Node{node("r1-b", "node-1")}, []string{"r1-b/" + group}, false},
		"other names":            {groups{"r1-b": {group + "-1", group + "x"}}, []*v1.Node{node("r1-b", "node-1")}, []string{"r1-b/" + group + "-1", "r1-b/" + group + "x"}, false},
		"a zone without nodes":   {groups{"r1-b": {group}, "r1-c": {group}}, []*v1.Node{node("r1-b", "node-1")}, []string{"r1-b/" + group}, false},
		"none":                   {groups{"r1-b": {"other"}, "r1-c": {group}}, []*v1.Node{node("r1-b", "node-1")}, nil, true},
		"none of several groups": {groups{"r2-b": {group}, "r1-c": {group}}, []*v1.Node{node("r1-b", "node-1")}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Global{SubnetworkName: "s", AlphaFeatures: []string{config.FeatureSkipGroups}}
			r := newRig(t, cfg)
			put := func(zone, name string) {
				r.put("zones/"+zone+"/instanceGroups/"+name, map[string]any{"name": name,
					"zone": "https://www.googleapis.com/compute/v1/projects/p/zones/" + zone})
			}
			for zone, list := range tc.groups {
				for _, name := range list {
					put(zone, name)
				}
			}
			verify := func(when string, want ...string) {
				t.Helper()
				list, _ := r.object(t, "regions/r1/backendServices/"+web)["backends"].([]any)
				var have []string
				for _, b := range list {
					link := b.(map[string]any)["group"].(string)
					have = append(have, api.ZoneOf(link)+"/"+api.Last(link))
				}
				if slices.Sort(have); !slices.Equal(have, want) {
					t.Errorf("%s: backends %q, want %q", when, have, want)
				}
			}
			s := internal(service("web", webUID, 80))
			warnings := r.plan(s, tc.nodes...).Warnings
			if warns := len(warnings) == 1 && strings.Contains(warnings[0], "no backends"); warns != tc.warns {
				t.Errorf("warnings %q", warnings)
			}
			r.ensure(s, tc.nodes...)
			verify("created", tc.want...)
			put("r1-d", group)
			r.takeOver(cfg, s)
			r.ensure(s, tc.nodes...)
			r.verifyChanges()
			r.update(s, append(tc.nodes, node("r1-d", "node-2"))...)
			verify("a zone joins", append(tc.want, "r1-d/"+group)...)
			r.update(s, append(tc.nodes, unidentified("node-2"))...)
			verify("its node has no provider ID", append(tc.want, "r1-d/"+group)...)
			r.update(s, tc.nodes...)
			verify("it leaves", tc.want...)
		})
	}
}

func TestGroupsHaveInstancesOfOneSubnet(t *testing.T) {
	t.Parallel()
	nodes := []model.Node{{Instance: "r1-b/node-1", Subnet: ""}, {Instance: "r1-b/node-2", Subnet: "s"}, {Instance: "r1-b/node-3", Subnet: "other"}}
	shared := model.SharedState{Subnetwork: "s", Environment: api.Environment{Region: "r1"}}
	got, warnings := model.GroupsOf(append(nodes, model.Node{Instance: "r2-b/node-4"}), shared, nil)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "outside of the region r1 receive no traffic: node-4") {
		t.Errorf("warnings %q", warnings)
	}
	if want := []model.Group{{Zone: "r1-b", Members: []string{"r1-b/node-1", "r1-b/node-2"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	var many []model.Node
	for i := range model.MaxMembers + 1 {
		many = append(many, model.Node{Instance: fmt.Sprintf("r1-b/node-%04d", i)})
	}
	if got, _ := model.GroupsOf(many, shared, nil); len(got[0].Members) != model.MaxMembers {
		t.Errorf("%d members", len(got[0].Members))
	}
}

func TestFirewallsFollowTheTagsOfNodes(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s := service("web", webUID, 80)
	r.tags = nil
	r.ensure(s) // A firewall without tags would be for all instances of the network.
	if have := r.names("firewalls"); len(have) > 0 {
		t.Errorf("firewalls %q without nodes", have)
	}
	r.tags = []string{"blue"}
	r.update(s, node("r1-b", "node-1"))
	r.tags = []string{"blue", "green"}
	r.update(s, node("r1-b", "node-1"), node("r1-b", "node-2"))
	for _, name := range r.names("firewalls") {
		if tags := r.object(t, "global/firewalls/"+name)["targetTags"]; !reflect.DeepEqual(tags, []any{"blue", "green"}) {
			t.Errorf("%s has tags %v", name, tags)
		}
	}
}

func TestDriftOfFirewallIsCorrected(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
	r.ensure(s, n)
	r.object(t, "global/firewalls/k8s-fw-"+web)["sourceRanges"] = []any{"198.51.100.0/24"}
	r.restart(config.Global{})
	r.calls()
	r.ensure(s, n)
	r.verifyChanges("firewalls.patch")
	// Without a Service that this manager has changed, the difference is not its own.
	r.object(t, "global/firewalls/k8s-fw-"+web)["sourceRanges"] = []any{"198.51.100.0/24"}
	s.Status.Conditions = nil
	r.restart(config.Global{})
	r.ensure(s, n)
	r.verifyChanges()
}

func TestFirewallsOfOtherFormsAreTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80, 81, 443), node("r1-b", "node-1")
	ip := r.ensure(s, n)
	firewall := r.object(t, "global/firewalls/k8s-fw-"+web)
	firewall["allowed"] = []any{map[string]any{"IPProtocol": "TCP", "ports": []any{"443", "80"}},
		map[string]any{"IPProtocol": "tcp", "ports": []any{"81"}}}
	firewall["destinationRanges"] = []any{ip + "/32"}
	delete(firewall, "priority")
	r.object(t, "regions/r1/forwardingRules/"+web)["ports"] = []any{"80", "81", "443"}
	// The address of one load balancer in the firewall of all probes waits for another change.
	r.object(t, "global/firewalls/"+nodeCheck+"-http-hc")["destinationRanges"] = []any{"203.0.113.77"}
	s.Status.Conditions = nil
	r.restart(config.Global{})
	r.calls()
	r.ensure(s, n)
	r.verifyChanges()
	if held := r.plan(s, n).Held; len(held) > 0 {
		t.Errorf("changes are held: %v", held)
	}
	r.ensure(service("db", dbUID, 80), n)
	if have := r.object(t, "global/firewalls/"+nodeCheck+"-http-hc")["destinationRanges"]; have != nil && len(have.([]any)) > 0 {
		t.Errorf("destinationRanges = %v", have)
	}
}

func TestOldFirewallIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	r.put("global/firewalls/"+web, map[string]any{"name": web})
	r.ensure(s, n)
	if have := r.names("firewalls"); !slices.Equal(have, []string{nodeCheck + "-hc", "k8s-fw-" + web}) {
		t.Errorf("firewalls %q", have)
	}
}
