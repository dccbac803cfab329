package loadbalancer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

// otherCluster returns the manager of another cluster in the same project.
func (r *rig) otherCluster(cfg config.Global) *rig {
	r.Helper()
	other := &rig{T: r.T, memory: r.memory, tags: []string{"others"}, cluster: "fedcba0987654321", clock: r.clock}
	other.restart(cfg)
	return other
}

// Two clusters in one project have firewalls, health checks and instance groups of their own: neither changes what the
// other one has, in whatever order their load balancers are made and deleted.
func TestTwoClustersInOneProject(t *testing.T) {
	t.Parallel()
	cfg := config.Global{SubnetworkName: "s"}
	one := newRig(t, cfg)
	two := one.otherCluster(cfg)
	uids := map[*rig][]string{
		one: {webUID, dbUID},
		two: {"2f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "3f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"},
	}
	nodes := map[*rig]*v1.Node{one: node("r1-b", "node-1"), two: node("r1-b", "node-2")}
	services := map[*rig][]*v1.Service{}
	alone := map[*rig]map[string][]string{}
	for _, r := range []*rig{one, two} {
		services[r] = []*v1.Service{service("web", uids[r][0], 80), internal(service("db", uids[r][1], 5432))}
		before := one.members()
		for _, s := range services[r] {
			r.ensure(s, nodes[r])
		}
		alone[r] = one.members()
		for path, members := range before {
			if !slices.Equal(alone[r][path], members) {
				t.Errorf("%s had the members %q, and has %q", path, members, alone[r][path])
			}
			delete(alone[r], path)
		}
	}
	one.calls()
	for _, r := range []*rig{one, two} {
		r.restart(cfg)
		for _, s := range services[r] {
			r.ensure(s, nodes[r])
		}
	}
	one.verifyChanges()
	for _, s := range services[one] {
		one.remove(s)
	}
	left := one.members()
	delete(left, "global/networks/n")
	if diff := cmp.Diff(alone[two], left); diff != "" {
		t.Errorf("after the deletion of all Services of one cluster (-of the other one +left):\n%s", diff)
	}
	two.calls()
	for _, s := range services[two] {
		two.ensure(s, nodes[two])
	}
	two.verifyChanges()
	for _, s := range services[two] {
		two.remove(s)
	}
	two.verify(nil)
}
