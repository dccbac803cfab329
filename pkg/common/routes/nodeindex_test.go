package routes_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// aged returns a node that was created at that second.
func aged(second int64, name string, cidrs ...string) *v1.Node {
	n := node(name, cidrs...)
	n.CreationTimestamp = metav1.NewTime(time.Unix(second, 0))
	return n
}

func listerOf(t *testing.T, list ...*v1.Node) *nodes.LazyLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range list {
		if err := indexer.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	lister := &nodes.LazyLister{}
	lister.Set(corelisters.NewNodeLister(indexer), nil)
	return lister
}

// impostors are targets of which every instance has these Nodes.
type impostors struct {
	targets
	names []string
}

func (n impostors) NodeNames(_ context.Context, ids []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, id := range ids {
		out[id] = n.names
	}
	return out, nil
}

// Several Nodes may have the provider ID of an instance: a kubelet writes that of its own.
func TestNodeOfRouteHasItsDestination(t *testing.T) {
	for name, tt := range map[string]struct {
		nodes []*v1.Node
		want  string
	}{
		"the first has it":         {[]*v1.Node{node("a", "10.0.0.0/24"), node("b", "10.0.1.0/24")}, "a"},
		"the last has it":          {[]*v1.Node{node("a", "10.0.1.0/24"), node("b", "10.0.0.0/24")}, "b"},
		"none has it":              {[]*v1.Node{node("a", "10.0.1.0/24"), node("b", "10.0.2.0/24")}, "a"},
		"written in another form":  {[]*v1.Node{node("a"), node("b", "10.0.0.9/24")}, "b"},
		"a node of another target": {[]*v1.Node{node("c", "10.0.0.0/24")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			r := routes.New(routes.Options{Provider: "test", Nodes: listerOf(t, tt.nodes...)},
				newTable(owned("10.0.0.0/24", "x")), impostors{names: []string{"a", "b"}})
			list, err := r.ListRoutes(t.Context(), "c")
			if err != nil || len(list) != 1 || string(list[0].TargetNode) != tt.want || list[0].Blackhole {
				t.Errorf("routes %+v, %v, want one of node %s", list, err, tt.want)
			}
		})
	}
}

func TestPodCIDRsThatGetNoRoute(t *testing.T) {
	const victim = "10.0.1.0/24"
	for name, tt := range map[string]struct {
		nodes   []*v1.Node
		have    []routes.Route
		create  string // the pod CIDR of node "new"
		problem string
	}{
		"within the cluster CIDR": {create: "10.0.9.0/24"},
		"the cluster CIDR itself": {create: "10.0.0.0/16"},
		"the second cluster CIDR": {create: "fd00::/64"},
		"half of the internet":    {create: "0.0.0.0/1", problem: "0.0.0.0/1 is not within --cluster-cidr=10.0.0.0/16,fd00::/48"},
		"the default route":       {create: "0.0.0.0/0", problem: "--cluster-cidr"},
		"more than the cluster's": {create: "10.0.0.0/8", problem: "--cluster-cidr"},
		"another network":         {create: "192.168.0.0/24", problem: "--cluster-cidr"},
		"the range of another node": {
			nodes: []*v1.Node{aged(1, "old", victim)}, create: victim, problem: "the pod CIDR 10.0.1.0/24 of node old",
		},
		"a part of the range of another node": {
			nodes: []*v1.Node{aged(1, "old", victim)}, create: "10.0.1.128/25", problem: "of node old",
		},
		"a range with that of another node": {
			nodes: []*v1.Node{aged(1, "old", victim)}, create: "10.0.0.0/22", problem: "of node old",
		},
		"the range of a younger node":      {nodes: []*v1.Node{aged(3, "young", victim)}, create: victim},
		"beside the range of another node": {nodes: []*v1.Node{aged(1, "old", victim)}, create: "10.0.2.0/24"},
		"a part of the range of a younger node with a route": {
			nodes: []*v1.Node{aged(3, "young", victim)}, have: []routes.Route{owned(victim, "young")},
			create: "10.0.1.0/25", problem: "of node young, which had it before",
		},
		"a part of the range of a route that leads elsewhere": {
			nodes: []*v1.Node{aged(3, "young", victim), aged(1, "third")}, have: []routes.Route{owned(victim, "third")},
			create: "10.0.1.0/25",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable(tt.have...)
			all := append(tt.nodes, aged(2, "new", tt.create))
			r := routes.New(routes.Options{Provider: "test", Nodes: listerOf(t, all...)}, table, targets{})
			clusterCIDRs := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/48")}
			r.LimitTo(clusterCIDRs)
			if _, err := r.ListRoutes(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
			err := r.CreateRoute(t.Context(), "c", "", toNode(tt.create, "new"))
			if tt.problem == "" && err != nil || tt.problem != "" &&
				(!cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("error %v, want %q", err, tt.problem)
			}
			if created := table.calls["create"] > 0; created != (tt.problem == "") {
				t.Errorf("the route was created: %v", created)
			}
			planned, err := routes.New(routes.Options{Provider: "test"}, newTable(tt.have...), targets{}).
				PlanRoutes(t.Context(), "c", all, clusterCIDRs)
			if err != nil {
				t.Fatal(err)
			}
			if warned := strings.Contains(strings.Join(planned.Warnings, "\n"), "node new gets no route: "); warned !=
				(tt.problem != "") {
				t.Errorf("the plan warns %q", planned.Warnings)
			}
		})
	}
}

// What an earlier manager made outside of the cluster CIDRs, or twice, stays as it is.
func TestExistingRoutesOfRejectedPodCIDRsStay(t *testing.T) {
	table := newTable(owned("192.168.0.0/24", "a"), incomplete("192.168.1.0/24", "b"), owned("10.0.0.0/24", "young"))
	r := routes.New(routes.Options{Provider: "test", Nodes: listerOf(t, node("a", "192.168.0.0/24"),
		node("b", "192.168.1.0/24"), aged(1, "old", "10.0.0.0/24"), aged(2, "young", "10.0.0.0/24"))}, table, targets{})
	r.LimitTo([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")})
	list, err := r.ListRoutes(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, route := range list {
		got[route.DestinationCIDR] = string(route.TargetNode)
	}
	want := map[string]string{"192.168.0.0/24": "a", "192.168.1.0/24": "b", "10.0.0.0/24": "young"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes, which the framework keeps (-want +got):\n%s", diff)
	}
	if err := r.CreateRoute(t.Context(), "c", "", toNode("10.0.0.0/24", "old")); !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("a second route to 10.0.0.0/24: %v", err)
	}
}
