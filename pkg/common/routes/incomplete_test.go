package routes_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

func incomplete(destination, node string) routes.Route {
	r := owned(destination, node)
	r.Incomplete = true
	return r
}

func nodeWith(name string, cidrs ...string) *v1.Node {
	node := &v1.Node{Spec: v1.NodeSpec{PodCIDRs: cidrs}}
	node.Name = name
	return node
}

func TestListOmitsIncompleteRoutesOfWantingNodes(t *testing.T) {
	lazy := &nodes.LazyLister{}
	r := routes.New(routes.Options{Provider: "fake", Nodes: lazy},
		newTable(incomplete("10.0.0.0/24", "a"), incomplete("10.0.1.0/24", "b"), incomplete("10.0.2.0/24", "c")), targets{})
	listed := func() (destinations []string) {
		t.Helper()
		list, err := r.ListRoutes(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range list {
			destinations = append(destinations, route.DestinationCIDR)
		}
		return destinations
	}
	if diff := cmp.Diff([]string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"}, listed()); diff != "" {
		t.Errorf("without the nodes (-want +got):\n%s", diff)
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range []*v1.Node{nodeWith("a", "fd00::/64", "10.0.0.7/24"), nodeWith("b", "10.0.9.0/24", "none")} {
		if err := indexer.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	lazy.Set(corelisters.NewNodeLister(indexer), nil)
	if diff := cmp.Diff([]string{"10.0.1.0/24", "10.0.2.0/24"}, listed()); diff != "" {
		t.Errorf("with the nodes (-want +got):\n%s", diff)
	}
}

func TestPlanCompletesRoutes(t *testing.T) {
	r := newRoutes(newTable(incomplete("10.0.0.0/24", "a"), incomplete("10.0.1.0/24", "b")))
	p, err := r.PlanRoutes(t.Context(), "c", []*v1.Node{nodeWith("a", "10.0.0.0/24")},
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]plan.Action{}
	for _, c := range p.Changes {
		got[c.Name] = c.Action
	}
	if diff := cmp.Diff(map[string]plan.Action{"10.0.0.0/24": plan.Create, "10.0.1.0/24": plan.Delete}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestPlanChangesOnlyRoutesInClusterCIDRs(t *testing.T) {
	for destination, changed := range map[string]bool{
		"10.0.1.0/24": true, "10.0.255.0/24": true, "10.1.0.0/24": false, "0.0.0.0/0": false, "10.0.0.0/8": true,
		"8.0.0.0/6": false, "10.0.0.0/16": true, "::/0": false, "fd00:1::/64": true, "fd01::/64": false,
	} {
		r := newRoutes(newTable(owned(destination, "a")))
		p, err := r.PlanRoutes(t.Context(), "c", nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"),
			netip.MustParsePrefix("fd00:1::/48")})
		if err != nil || (len(p.Changes) > 0) != changed {
			t.Errorf("%s: changes %v, %v; want changed %v", destination, p.Changes, err, changed)
		}
	}
}

func TestBlackholesAreReplacedBySource(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		source := newTable(blackhole("10.0.0.0/24"))
		r := routes.New(routes.Options{Provider: "fake", ReplacesBlackholes: replaces}, source, targets{})
		if _, err := r.ListRoutes(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		// The table of the test refuses to create over another route.
		err := r.CreateRoute(t.Context(), "c", "", toNode("10.0.0.0/24", "a"))
		if deleted := source.calls["delete"] > 0; deleted == replaces || (err != nil) != replaces {
			t.Errorf("replaces %v: deleted %v, %v", replaces, deleted, err)
		}
	}
}
