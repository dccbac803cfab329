package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func ids(list []commoninstances.Instance) []string {
	out := []string{}
	for _, i := range list {
		out = append(out, i.ID)
	}
	slices.Sort(out)
	return out
}

func TestListReturnsInstancesOfCluster(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a, b, c := w.LaunchNamed("a"), w.LaunchNamed("b"), w.LaunchNamed("c")
	w.LaunchNamed("d")
	if err := w.Cloud.Cloud.Terminate("d"); err != nil {
		t.Fatal(err)
	}
	if err := w.Cloud.Cloud.Stop("b"); err != nil {
		t.Fatal(err)
	}
	w.SetTags(c, map[string]string{names.ClusterTag("other"): "owned"})
	list, err := w.source.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{a, b}
	slices.Sort(want)
	if diff := cmp.Diff(want, ids(list)); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	w.SetTags(c, map[string]string{names.LegacyClusterTag: "sim"})
	if list, err = w.source.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("with the legacy tag: %v, %v", ids(list), err)
	}
	w.SetTags(c, map[string]string{names.LegacyClusterTag: "other"})
	if list, err = w.source.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("with the legacy tag of another cluster: %v, %v", ids(list), err)
	}
}

func TestMetadata(t *testing.T) {
	w := newTestCloud(t, sim.Options{PublicNodes: true})
	node := w.Launch(world.Machine{Name: "a", Zone: "us-west-2b"})[0]
	id := w.Cloud.Cloud.Instance("a")
	got, err := w.instances().InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	private := got.NodeAddresses[0].Address
	public := got.NodeAddresses[1].Address
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "aws:///us-west-2b/" + id, InstanceType: "m5.large", Zone: "us-west-2b", Region: "us-west-2",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: private}, {Type: v1.NodeExternalIP, Address: public},
			{Type: v1.NodeInternalDNS, Address: "a"}, {Type: v1.NodeHostName, Address: "a"},
			{Type: v1.NodeExternalDNS, Address: got.NodeAddresses[4].Address},
		},
		AdditionalLabels: map[string]string{names.ZoneIDLabel: "usw2-az2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestGetOmitsMissingInstances(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a := w.LaunchNamed("a")
	w.LaunchNamed("gone")
	gone := w.Cloud.Cloud.Instance("gone")
	if err := w.Cloud.Cloud.Terminate("gone"); err != nil {
		t.Fatal(err)
	}
	asked := []string{a, gone, "i-00000000000000001"}
	for n := range 300 {
		asked = append(asked, fmt.Sprintf("i-0%016x", n))
	}
	w.ResetCalls()
	list, err := w.source.Get(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{a}, ids(list)); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	// Two calls for 303 IDs, and one that learns that m5.large has no topology.
	w.WantCalls(3)
}

func TestGetRejectsInvalidInstanceID(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a := w.LaunchNamed("a")
	for _, id := range []string{"i-kwok", "i-*", "i-", "i-0123456789", "i-0123456789ABCDEF0"} {
		list, err := w.source.Get(t.Context(), []string{a, id})
		if err != nil || len(list) != 2 || list[0].ID != a || list[1].ID != id || !cloudapi.Is(list[1].Uncertain, cloudapi.Invalid) {
			t.Errorf("%s: %+v, %v, want an error of class %s for it alone", id, list, err, cloudapi.Invalid)
		}
	}
	nodes := []*v1.Node{simtest.InitializedNode("a", "aws:///us-west-2a/"+a), simtest.InitializedNode("k", "aws:///us-west-2a/i-kwok")}
	i := w.instances()
	exists := make([]bool, 2)
	errs := make([]error, 2)
	workqueue.ParallelizeUntil(t.Context(), 2, 2, func(n int) { exists[n], errs[n] = i.InstanceExists(t.Context(), nodes[n]) })
	if !exists[0] || errs[0] != nil || errs[1] == nil {
		t.Errorf("exists %v, errors %v", exists, errs)
	}
}

func TestInstanceOfOtherRegionIsNotDeleted(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	for _, id := range []string{"aws:///eu-central-1a/i-00000000000000001", "aws://eu-central-1a/i-00000000000000001"} {
		var foreign *commoninstances.ForeignIDError
		if _, err := w.instances().InstanceExists(t.Context(), simtest.InitializedNode("n", id)); !errors.As(err, &foreign) {
			t.Errorf("%s: error %v, want one of a foreign provider ID", id, err)
		}
	}
}

func TestErrorsAreNotDeletion(t *testing.T) {
	for name, fault := range map[string]kit.Fault{
		"throttled": {Kind: kit.FaultThrottle, Times: kit.Always},
		"error":     {Kind: kit.FaultError, Times: kit.Always},
		"no reply":  {Kind: kit.FaultLostReply, Times: kit.Always},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestCloud(t, sim.Options{})
			a := w.LaunchNamed("a")
			w.Cloud.Cloud.Front().SetFaults(fault)
			if exists, err := w.instances().InstanceExists(t.Context(), simtest.InitializedNode("a", "aws:///us-west-2a/"+a)); err == nil {
				t.Errorf("exists %v without an error", exists)
			}
			if _, err := w.source.Described(t.Context(), []string{a}, false); err == nil {
				t.Error("Described without an error")
			}
		})
	}
	t.Run("denied", func(t *testing.T) {
		denied := false
		w := newTestCloud(t, sim.Options{Allow: func(string) bool { return !denied }})
		a := w.LaunchNamed("a")
		denied = true
		_, err := w.instances().InstanceExists(t.Context(), simtest.InitializedNode("a", "aws:///us-west-2a/"+a))
		if !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("error %v, want class %s", err, cloudapi.Denied)
		}
	})
}

func TestFind(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a := w.LaunchNamed("ip-10-0-64-7.example.com")
	b := w.LaunchNamed("")
	_ = b
	list, err := w.source.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var own string
	for _, i := range list {
		if i.ID != a {
			own = i.NodeName
			b = i.ID
		}
	}
	var address string
	for _, i := range list {
		if i.ID == b {
			address = i.Addresses[0].Address
		}
	}
	dashed := "ip-" + dashes(address)
	for name, tc := range map[string]struct {
		names []string
		want  map[string]string
	}{
		"private DNS name":                      {[]string{own}, map[string]string{own: b}},
		"ID as name":                            {[]string{a}, map[string]string{a: a}},
		"ID with a domain":                      {[]string{a + ".us-west-2.compute.internal"}, map[string]string{a + ".us-west-2.compute.internal": a}},
		"address with the user's domain":        {[]string{dashed + ".corp.example"}, map[string]string{dashed + ".corp.example": b}},
		"address alone":                         {[]string{dashed}, map[string]string{dashed: b}},
		"none":                                  {[]string{"web-1", "*", "i-0ffffffffffffffff"}, map[string]string{}},
		"all at once":                           {[]string{own, a, dashed, "x"}, map[string]string{own: b, a: a, dashed: b}},
		"a private DNS name of another address": {[]string{"ip-10-0-64-7.example.com"}, map[string]string{"ip-10-0-64-7.example.com": a}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := w.source.Find(t.Context(), refs(tc.names...))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, i := range found {
				got[i.NodeName] = i.ID
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindRejectsAmbiguousName(t *testing.T) {
	found := matches{byName: map[string][]commoninstances.Instance{"n": {{ID: "i-2"}, {ID: "i-1"}}, "o": {{ID: "i-3"}}}}
	list := found.instances()
	if len(list) != 2 || !cloudapi.Is(list[0].Uncertain, cloudapi.Invalid) || list[0].NodeName != "n" ||
		list[1].ID != "i-3" || list[1].Uncertain != nil {
		t.Errorf("found %+v", list)
	}
}

func TestNodeBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes, most int
		run         func(ctx context.Context, w *testCloud, i *commoninstances.Instances, nodes []*v1.Node)
	}{
		"1,000 nodes join": {1000, 12, func(ctx context.Context, w *testCloud, i *commoninstances.Instances, nodes []*v1.Node) {
			workqueue.ParallelizeUntil(ctx, 16, len(nodes), func(n int) { w.metadata(ctx, i, nodes[n]) })
		}},
		"1,000 nodes join that are named by their ID": {1000, 12, func(ctx context.Context, w *testCloud, i *commoninstances.Instances, nodes []*v1.Node) {
			workqueue.ParallelizeUntil(ctx, 16, len(nodes), func(n int) {
				node := nodes[n].DeepCopy()
				node.Name = w.Cloud.Cloud.Instance(nodes[n].Name) + ".us-west-2.compute.internal"
				w.metadata(ctx, i, node)
			})
		}},
		"refresh of 5,000 nodes": {5000, 6, func(ctx context.Context, w *testCloud, i *commoninstances.Instances, nodes []*v1.Node) {
			w.refresh(ctx, i, nodes)
		}},
		"lifecycle of 100 NotReady nodes, twelve passes within a minute": {100, 16, func(ctx context.Context, w *testCloud, i *commoninstances.Instances, nodes []*v1.Node) {
			for range 12 {
				workqueue.ParallelizeUntil(ctx, 16, len(nodes), func(n int) {
					node := simtest.InitializedNode(nodes[n].Name, "aws:///us-west-2a/"+w.Cloud.Cloud.Instance(nodes[n].Name))
					if exists, err := i.InstanceExists(ctx, node); err != nil || !exists {
						w.T.Errorf("%s: exists %v, %v", node.Name, exists, err)
					}
					if _, err := i.InstanceShutdown(ctx, node); err != nil {
						w.T.Error(err)
					}
				})
				time.Sleep(5 * time.Second)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCloud(t, sim.Options{Latency: 50 * time.Millisecond})
				var machines []world.Machine
				for range tc.nodes {
					machines = append(machines, world.Machine{})
				}
				nodes := w.Launch(machines...)
				i := w.instances()
				tc.run(t.Context(), w, i, nodes)
				w.WantCalls(tc.most)
			})
		})
	}
}

func (w *testCloud) metadata(ctx context.Context, i *commoninstances.Instances, node *v1.Node) {
	w.T.Helper()
	if _, err := i.InstanceMetadata(ctx, node); err != nil {
		w.T.Errorf("%s: %v", node.Name, err)
	}
}

// refresh asks for the metadata of nodes that have been initialised, as each pass does.
func (w *testCloud) refresh(ctx context.Context, i *commoninstances.Instances, nodes []*v1.Node) {
	workqueue.ParallelizeUntil(ctx, 16, len(nodes), func(n int) {
		w.metadata(ctx, i, simtest.InitializedNode(nodes[n].Name, "aws:///us-west-2a/"+w.Cloud.Cloud.Instance(nodes[n].Name)))
	})
}

// refs returns Nodes with these names and no system UUID.
func refs(names ...string) []commoninstances.NodeRef {
	nodes := make([]commoninstances.NodeRef, len(names))
	for i, name := range names {
		nodes[i].Name = name
	}
	return nodes
}
