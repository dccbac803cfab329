package openstack

import (
	"testing"
	"testing/synctest"

	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// A node whose provider ID is of another region, as the informers show it, keeps its member, and the label that opts it
// out removes it.
func TestUnownedNodeStaysMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := balancerEffect{}.made(t, false)
		if m.err != nil {
			t.Fatal(m.err)
		}
		for _, tt := range []struct {
			label string
			want  int
		}{{"true", 2}, {"false", 1}} {
			node := m.nodes[1].DeepCopy()
			node.Spec.ProviderID = "openstack://RegionTwo/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
			node.Labels = map[string]string{"node.unified-ccm.io/managed": tt.label}
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			for _, n := range []any{m.nodes[0], node} {
				if err := indexer.Add(n); err != nil {
					t.Fatal(err)
				}
			}
			m.cloud.Nodes().Set(corelisters.NewNodeLister(indexer), nil)
			if _, err := m.ensure(m.service); err != nil {
				t.Fatal(err)
			}
			if got := len(m.members()); got != tt.want {
				t.Errorf("%d members with the label %s, want %d", got, tt.label, tt.want)
			}
		}
	})
}
