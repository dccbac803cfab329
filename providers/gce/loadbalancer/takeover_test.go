package loadbalancer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

// takeOver starts a manager that has not seen the Services before.
func (r *rig) takeOver(cfg config.Global, services ...*v1.Service) {
	for _, s := range services {
		s.Status.Conditions = nil
	}
	r.restart(cfg)
	r.calls()
}

// unidentified returns a node without a provider ID.
func unidentified(name string) *v1.Node {
	n := node("", name)
	n.Spec.ProviderID = ""
	return n
}

// membersOf returns the names of the instances of Service web.
func (r *rig) membersOf(t *testing.T, isInternal bool) []string {
	t.Helper()
	paths := []string{"regions/r1/targetPools/" + web}
	if isInternal {
		paths = nil
		for _, b := range r.object(t, "regions/r1/backendServices/"+web)["backends"].([]any) {
			paths = append(paths, api.Path(b.(map[string]any)["group"].(string)))
		}
	}
	var out []string
	for _, path := range paths {
		object := r.object(t, path)
		for _, link := range slices.Concat(stringsOf(object["instances"]), stringsOf(object["members"])) {
			out = append(out, api.Last(link))
		}
	}
	slices.Sort(out)
	return out
}

// Earlier managers found members by the names of nodes. Those whose nodes never get a provider ID stay, and no node
// without one becomes a member.
func TestMembersOfNodesWithoutProviderIDStay(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(*v1.Service) *v1.Service{
		"external": func(s *v1.Service) *v1.Service { return s }, "internal": internal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Global{SubnetworkName: "s"}
			r := newRig(t, cfg)
			r.tags = []string{"old", "nodes"}
			s := kind(service("web", webUID, 80))
			r.ensure(s, node("r1-b", "node-1"), node("r1-c", "node-2"), node("r1-b", "gone"))
			nodes := []*v1.Node{unidentified("node-1"), unidentified("node-2"), unidentified("database"), node("r1-b", "gone")}
			verify := func(when string, want ...string) {
				t.Helper()
				if have := r.membersOf(t, name == "internal"); !slices.Equal(have, want) {
					t.Errorf("%s: members %q, want %q", when, have, want)
				}
			}
			r.tags = []string{"nodes"}
			r.takeOver(cfg, s)
			r.ensure(s, nodes...)
			r.verifyChanges()
			r.verifyTags(t, "old", "nodes")
			if event := <-r.events.Events; !strings.Contains(event, "without a provider ID") ||
				!strings.Contains(event, "database, node-1, node-2") {
				t.Errorf("event %q", event)
			}
			r.update(s, nodes[:3]...)
			verify("a node leaves", "node-1", "node-2")
			s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
			r.ensure(s, nodes...)
			verify("a node joins, and the affinity changes", "gone", "node-1", "node-2")
			r.update(s, node("r1-b", "node-1"), node("r1-b", "gone"))
			verify("a node has a provider ID, and another is deleted", "gone", "node-1")
		})
	}
}

// A zone that does not answer keeps its group: which members it has is not known.
func TestGroupOfSilentZoneMayHaveMembersThatStay(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	link := func(zone string) string {
		return r.Link(r.environment, api.InstanceGroupsDelete, api.Target{Zone: zone, Name: group})
	}
	have := api.BackendService{Backends: []api.Backend{{Group: link("r1-b")}, {Group: link("r1-c")}, {Group: link("r1-d")}}}
	for name, tc := range map[string]struct {
		unidentified model.Unidentified
		skipsGroups  bool
		want         []api.Backend
	}{
		"all nodes have a provider ID":     {nil, false, have.Backends[:1]},
		"a node has none":                  {model.Unidentified{"node-1"}, false, have.Backends[:2]},
		"the groups of another controller": {nil, true, have.Backends[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := Observed{ClusterID: testCluster, Environment: r.environment,
				Groups: []model.Group{{Zone: "r1-b", Unread: true}, {Zone: "r1-c", Unread: true}, {Zone: "r1-d"}}}
			d := r.cloud.differ(lbcommon.Key{}, observed)
			d.unidentified, d.skipsGroups = tc.unidentified, tc.skipsGroups
			if got := d.backendsOf(&have, []model.Group{{Zone: "r1-b"}}); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestPriorityOfInternalFirewallStays(t *testing.T) {
	t.Parallel()
	cfg := config.Global{SubnetworkName: "s"}
	r := newRig(t, cfg)
	s, n := internal(service("web", webUID, 80)), node("r1-b", "node-1")
	r.ensure(s, n)
	r.object(t, firewallPath)["priority"] = 900
	r.takeOver(cfg, s)
	r.ensure(s, n)
	r.verifyChanges()
}

// An instance without a tag that could select it keeps no node out of a load balancer, and a firewall that cannot be
// created no node out of an existing one.
func TestInstanceWithoutTag(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tags, untagged []string
		// exists is set for a load balancer from before, deleted is its firewall.
		exists  bool
		deleted string
		err     bool
		members []string
	}{
		"one of several": {tags: []string{"nodes"}, untagged: []string{"gpu-1"}, exists: true, members: []string{"gpu-1", "node-1"}},
		"a new Service":  {tags: []string{"nodes"}, untagged: []string{"gpu-1"}, members: []string{"gpu-1", "node-1"}},
		"all":            {untagged: []string{"gpu-1", "node-1"}, exists: true, members: []string{"gpu-1", "node-1"}},
		"all, and no firewall": {untagged: []string{"gpu-1", "node-1"}, exists: true, deleted: "global/firewalls/k8s-fw-" + web,
			err: true, members: []string{"gpu-1", "node-1"}},
		"all, of a new Service": {untagged: []string{"gpu-1", "node-1"}, err: true},
	} {
		for _, isInternal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, internal %t", name, isInternal), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, config.Global{SubnetworkName: "s"})
				s := service("web", webUID, 80)
				if isInternal {
					internal(s)
				}
				if tc.exists {
					r.tags = []string{"by-hand", "nodes"}
					r.ensure(s, node("r1-b", "node-1"))
					<-r.events.Events
				}
				delete(r.objects, tc.deleted)
				r.clock.Step(snapshotAge)
				r.tags, r.untagged = tc.tags, tc.untagged
				nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-b", "gpu-1")}
				_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, nodes)
				if cloudapi.Is(err, cloudapi.Invalid) != tc.err || tc.err && !strings.Contains(err.Error(), "node-tags") {
					t.Errorf("error %v", err)
				}
				if tc.members == nil {
					r.verify(nil)
					return
				}
				if have := r.membersOf(t, isInternal); !slices.Equal(have, tc.members) {
					t.Errorf("members %q, want %q", have, tc.members)
				}
				if tc.exists {
					r.verifyTags(t, "by-hand", "nodes")
				}
				if tc.err {
					return
				}
				if event := <-r.events.Events; !strings.Contains(event, strings.Join(tc.untagged, ", ")) {
					t.Errorf("event %q", event)
				}
				r.update(s, nodes[1])
			})
		}
	}
}

// The other manager compares values with the spaces around them. What it made of them stays, with a warning.
func TestValuesWithSpaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*v1.Service)
		text string
	}{
		"type":                     {func(s *v1.Service) { s.Annotations[annotation.KeyType] = "Internal " }, `"Internal "`},
		"older key of the type":    {func(s *v1.Service) { s.Annotations[annotation.KeyOldType] = "Internal\n" }, `"Internal\n"`},
		"global access":            {func(s *v1.Service) { internal(s).Annotations[annotation.KeyGlobalAccess] = "true\n" }, `"true\n"`},
		"backend share":            {func(s *v1.Service) { internal(s).Annotations[annotation.KeyBackendShare] = " true" }, `" true"`},
		"older key of the sharing": {func(s *v1.Service) { internal(s).Annotations[annotation.KeyOldBackendShare] = "true " }, `"true "`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Global{SubnetworkName: "s"}
			r := newRig(t, cfg)
			s, n := service("web", webUID, 80), node("r1-b", "node-1")
			tc.edit(s)
			isInternal := annotation.IsInternal(s.Annotations[annotation.KeyType])
			existing := service("web", webUID, 80)
			if isInternal {
				internal(existing)
			}
			r.ensure(existing, n)
			r.takeOver(cfg, s)
			r.ensure(s, n)
			r.verifyChanges()
			p := r.plan(s, n)
			if len(p.Held) > 0 || !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, tc.text) }) {
				t.Errorf("held %v, warnings %q", p.Held, p.Warnings)
			}
		})
	}
}

// The other manager never compares the health check of a pool, so that one of the user stays.
func TestHealthCheckOfPoolStays(t *testing.T) {
	t.Parallel()
	checks := []any{"https://www.googleapis.com/compute/v1/projects/p/global/httpHealthChecks/by-hand"}
	r := newRig(t, config.Global{})
	s, n := service("web", webUID, 80), node("r1-b", "node-1")
	r.ensure(s, n)
	r.put("global/httpHealthChecks/by-hand", map[string]any{"name": "by-hand"})
	r.object(t, "regions/r1/targetPools/"+web)["healthChecks"] = checks
	r.takeOver(config.Global{}, s)
	r.ensure(s, n)
	r.verifyChanges()
	if held := r.plan(s, n).Held; len(held) != 1 || held[0].Disrupts != plan.DisruptsTraffic {
		t.Errorf("held %v", held)
	}
	s = edit(s, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
	r.ensure(s, n)
	if have := r.object(t, "regions/r1/targetPools/"+web)["healthChecks"]; !reflect.DeepEqual(have, checks) {
		t.Errorf("after another edit: health checks %v, want %v", have, checks)
	}
	r.ensure(local(edit(s, func(*v1.Service) {})), n)
	if have := stringsOf(r.object(t, "regions/r1/targetPools/"+web)["healthChecks"]); len(have) != 1 || api.Last(have[0]) != web {
		t.Errorf("after the edit of the policy: health checks %q", have)
	}
}
