package nodes

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestLazyLister(t *testing.T) {
	t.Parallel()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := indexer.Add(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	lister := corelisters.NewNodeLister(indexer)
	set := func(synced func() bool) *LazyLister {
		l := &LazyLister{}
		l.Set(lister, synced)
		return l
	}
	for _, tc := range []struct {
		name   string
		lazy   *LazyLister
		lister bool
		all    int
	}{
		{"nil", nil, false, -1},
		{"before Set", &LazyLister{}, false, -1},
		{"not synced", set(func() bool { return false }), true, -1},
		{"synced", set(func() bool { return true }), true, 1},
		{"without HasSynced", set(nil), true, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.lazy.Lister() != nil; got != tc.lister {
				t.Errorf("has a lister: %v, want %v", got, tc.lister)
			}
			all, err := tc.lazy.All()
			switch {
			case tc.all < 0 && !cloudapi.Is(err, cloudapi.Unavailable):
				t.Errorf("All() = %v, %v, want an error of class Unavailable", all, err)
			case tc.all >= 0 && (err != nil || len(all) != tc.all):
				t.Errorf("All() = %v, %v, want %d nodes", all, err, tc.all)
			}
		})
	}
}

func TestUninitialized(t *testing.T) {
	taint := func(key string) v1.Taint { return v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule} }
	for name, c := range map[string]struct {
		taints []v1.Taint
		want   bool
	}{
		"no taints":         {},
		"another taint":     {[]v1.Taint{taint("node.kubernetes.io/not-ready")}, false},
		"the framework's":   {[]v1.Taint{taint("node.kubernetes.io/not-ready"), taint("node.cloudprovider.kubernetes.io/uninitialized")}, true},
		"one of a shutdown": {[]v1.Taint{taint("node.cloudprovider.kubernetes.io/shutdown")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Uninitialized(&v1.Node{Spec: v1.NodeSpec{Taints: c.taints}}); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}
