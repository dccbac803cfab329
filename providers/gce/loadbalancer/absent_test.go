package loadbalancer

import (
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// newMachines returns a rig in which only instances can be members that exist, with the nodes of three.
func newMachines(t *testing.T) (*rig, []*v1.Node) {
	t.Helper()
	r := newRig(t, config.Global{SubnetworkName: "s"})
	r.memory.machines = true
	nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-b", "node-2"), node("r1-b", "node-3")}
	for _, n := range nodes {
		r.launch(n.Name)
	}
	return r, nodes
}

func (r *rig) launch(name string) { r.put("zones/r1-b/instances/"+name, map[string]any{"name": name}) }

// terminate deletes an instance, and removes it from the pool or group.
func (r *rig) terminate(path, name string) {
	delete(r.objects, "zones/r1-b/instances/"+name)
	object, field := r.objects[path], membersField(path)
	object[field] = slices.DeleteFunc(slices.Clone(object[field].([]any)), func(link any) bool {
		return api.Last(link.(string)) == name
	})
}

func membersField(path string) string {
	if path == groupPath {
		return "members"
	}
	return "instances"
}

// memberNames returns the names of the members of a pool or group.
func (r *rig) memberNames(path string) []string {
	r.Helper()
	var out []string
	for _, link := range stringsOf(r.object(r.T, path)[membersField(path)]) {
		out = append(out, api.Last(link))
	}
	slices.Sort(out)
	return out
}

// verifyRetry fails unless an error makes the framework sync the Service again in about a minute.
func verifyRetry(t *testing.T, err error) {
	t.Helper()
	var retry *cloudprovider.RetryError
	if !errors.As(err, &retry) || retry.RetryAfter() < time.Minute || retry.RetryAfter() > 2*time.Minute {
		t.Errorf("error %v, want a retry in a minute", err)
	}
}

const (
	groupPath = "zones/r1-b/instanceGroups/" + group
	poolPath  = "regions/r1/targetPools/" + web
)

// An instance that is created again under its name is a member again as soon as it is back.
func TestRecreatedInstances(t *testing.T) {
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
			ip := r.ensure(s, nodes...)
			for _, n := range nodes {
				r.terminate(tc.path, n.Name)
				r.clock.Step(time.Minute)
				joining := node("r1-b", "new-"+n.Name)
				r.launch(joining.Name)
				nodes = append(nodes, joining)
				if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes); err == nil {
					t.Error("the framework does not sync the Service again")
				}
				s = edit(s, func(s *v1.Service) { s.Spec.Ports[0].Port++ })
				_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, nodes)
				verifyRetry(t, err)
				if have := r.memberNames(tc.path); len(have) != len(nodes)-1 {
					t.Errorf("without %s: %q", n.Name, have)
				}
				if rule := r.object(t, rulePath+web); rule["IPAddress"] != ip {
					t.Errorf("the forwarding rule is %v", rule)
				}
				r.launch(n.Name)
				r.clock.Step(time.Minute)
				r.ensure(s, nodes...)
				if have := r.memberNames(tc.path); len(have) != len(nodes) {
					t.Errorf("with %s: %q", n.Name, have)
				}
			}
		})
	}
}

// A Service gets its address although an instance does not exist, which stays a member if the cloud has it.
func TestAbsentInstanceDelaysNoAddress(t *testing.T) {
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
			delete(r.objects, "zones/r1-b/instances/node-1")
			s := tc.prepare(service("web", webUID, 80))
			r.ensure(s, nodes...)
			if have := r.memberNames(tc.path); !slices.Equal(have, []string{"node-2", "node-3"}) {
				t.Errorf("members %q", have)
			}
			// A user adds it.
			r.launch("node-1")
			object := r.object(t, tc.path)
			link := "https://www.googleapis.com/compute/v1/projects/p/zones/r1-b/instances/node-1"
			object[membersField(tc.path)] = append(object[membersField(tc.path)].([]any), link)
			s.Status = v1.ServiceStatus{}
			r.ensure(s, nodes...)
			if have := r.memberNames(tc.path); len(have) != 3 {
				t.Errorf("members %q after a user added one", have)
			}
		})
	}
}

// An instance that never existed is read rarely, and fails no sync for long.
func TestInstanceThatNeverExisted(t *testing.T) {
	t.Parallel()
	r, nodes := newMachines(t)
	s := service("web", webUID, 80)
	r.ensure(s, nodes...)
	nodes = append(nodes, node("r1-b", "ghost"))
	failed := 0
	r.calls()
	for range 60 {
		r.clock.Step(time.Minute)
		if err := r.controller.UpdateLoadBalancer(t.Context(), "c", s, nodes); err != nil {
			failed++
		}
	}
	_, changes := r.calls()
	if failed != 10 || len(changes) > 16 {
		t.Errorf("%d of 60 syncs failed, with %d calls", failed, len(changes))
	}
}

// A node that cannot be added to a pool or group that exists keeps nothing else from changing.
func TestNodeThatCannotBeAddedKeepsNothing(t *testing.T) {
	t.Parallel()
	port := func(s *v1.Service) { s.Spec.Ports[0].Port = 81 }
	for name, tc := range map[string]struct {
		prepare func(*v1.Service) *v1.Service
		denied  string
		edit    func(*v1.Service)
		done    func(rule map[string]any) bool
	}{
		"port of a pool": {func(s *v1.Service) *v1.Service { return s }, "targetPools.addInstance", port,
			func(rule map[string]any) bool { return rule["portRange"] == "81-81" }},
		"port of a group": {internal, "instanceGroups.addInstances", port,
			func(rule map[string]any) bool { return slices.Equal(stringsOf(rule["ports"]), []string{"81"}) }},
		"backend service of a group": {internal, "instanceGroups.addInstances", func(s *v1.Service) {
			s.Annotations[annotation.KeyBackendShare] = "true"
		}, func(rule map[string]any) bool { return api.Last(rule["backendService"].(string)) != web }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{SubnetworkName: "s"})
			s, n := tc.prepare(service("web", webUID, 80)), node("r1-b", "node-1")
			r.ensure(s, n)
			r.denied[tc.denied] = true
			s = edit(s, tc.edit)
			for range 2 {
				_, err := r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n, node("r1-b", "node-2")})
				if err == nil {
					t.Error("no error")
				}
			}
			if rule := r.object(t, rulePath+web); !tc.done(rule) {
				t.Errorf("the forwarding rule is %v", rule)
			}
		})
	}
}
