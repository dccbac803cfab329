package instances_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

func TestNodeNameWithIDIsLookedUpByID(t *testing.T) {
	c := newCloud(2)
	i := instances.New(instances.Options{Provider: "fake", IDOfName: func(name string) (string, bool) {
		id, ok := strings.CutSuffix(name, ".internal")
		return id, ok
	}}, c, fakeScheme)
	node := joiningNode(1)
	node.Name = "m-1.internal"
	if m := mustMetadata(t, i, node); m != "fake://a/m-1" {
		t.Errorf("provider ID %s", m)
	}
	if m := mustMetadata(t, i, joiningNode(0)); m != "fake://a/m-0" {
		t.Errorf("provider ID %s of a node without an ID in its name", m)
	}
}

func mustMetadata(t *testing.T, i *instances.Instances, node *v1.Node) string {
	t.Helper()
	m, err := i.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return m.ProviderID
}

func TestIncompleteInstanceBlocksOnlyInitialization(t *testing.T) {
	c := newCloud(1)
	want := errors.New("not known yet")
	in := c.instances["m-0"]
	in.Incomplete = want
	c.instances["m-0"] = in
	i := newInstances(c)
	if _, err := i.InstanceMetadata(t.Context(), joiningNode(0)); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	if _, err := i.InstanceMetadata(t.Context(), readyNode(0)); err != nil {
		t.Errorf("refresh: %v", err)
	}
	mustExist(t, i, readyNode(0), true)
}

func TestUncertainInstanceFailsOnlyItsOwnLookups(t *testing.T) {
	c := newCloud(2)
	want := errors.New("two instances have this ID")
	c.instances["m-0"] = instances.Instance{ID: "m-0", Uncertain: want}
	i := newInstances(c)
	for range 2 {
		if _, err := i.InstanceExists(t.Context(), readyNode(0)); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		mustExist(t, i, readyNode(1), true)
	}
}

func TestNodeIsLookedUpBySystemUUIDBeforeName(t *testing.T) {
	c := newCloud(3)
	for n := range 3 {
		in := c.instances[fmt.Sprintf("m-%d", n)]
		in.SystemUUIDs = []string{fmt.Sprintf("a-%d", n), fmt.Sprintf("b-%d", n)}
		in.NodeName = "same"
		c.instances[in.ID] = in
	}
	i := newInstances(c)
	for n := range 3 {
		node := joiningNode(0)
		node.Name, node.Status.NodeInfo.SystemUUID = fmt.Sprintf("other-%d", n), fmt.Sprintf("B-%d", n)
		if m := mustMetadata(t, i, node); m != fmt.Sprintf("fake://a/m-%d", n) {
			t.Errorf("node %s has provider ID %s", node.Name, m)
		}
	}
	if calls := c.total(); calls != 1 {
		t.Errorf("%d calls, want one list", calls)
	}
}

func TestNodeIsNotTheInstanceOfItsNameWithAnotherSystemUUID(t *testing.T) {
	c := newCloud(1)
	in := c.instances["m-0"]
	in.SystemUUIDs = []string{"a-0"}
	c.instances["m-0"] = in
	i := newInstances(c)
	node := joiningNode(0)
	node.Status.NodeInfo.SystemUUID = "another"
	if _, err := i.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("error %v, want %v", err, cloudprovider.InstanceNotFound)
	}
	node.Status.NodeInfo.SystemUUID = ""
	if m := mustMetadata(t, i, node); m != "fake://a/m-0" {
		t.Errorf("a node without a system UUID has provider ID %s", m)
	}
}

// TestNodeNamesOfInstanceThatCannotBeRead verifies that an instance which cannot be read keeps its Nodes and does not
// block the others, and that without a Node nothing is said.
func TestNodeNamesOfInstanceThatCannotBeRead(t *testing.T) {
	c := newCloud(3)
	want := errors.New("its zone is disrupted")
	for _, id := range []string{"m-0", "m-1"} {
		c.instances[id] = instances.Instance{ID: id, Uncertain: want}
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, node := range []*v1.Node{readyNode(0), readyNode(2)} {
		if err := indexer.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	lister := &nodes.LazyLister{}
	lister.Set(corelisters.NewNodeLister(indexer), func() bool { return true })
	i := instances.New(instances.Options{Provider: "fake", Nodes: lister}, c, fakeScheme)
	names, err := i.NodeNames(t.Context(), []string{"m-0", "m-2", "m-9"})
	if diff := cmp.Diff(map[string][]string{"m-0": {"node-0"}, "m-2": {"node-2"}}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if names, err := i.NodeNames(t.Context(), []string{"m-0", "m-1"}); !errors.Is(err, want) {
		t.Errorf("an instance without a Node: %v, %v", names, err)
	}
}
