package instances

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func machines(n int, kind string) []world.Machine {
	return slices.Repeat([]world.Machine{{Type: kind}}, n)
}

// layersOf is how many instances of a list have labels of the network's layers.
func layersOf(list []commoninstances.Instance) (n int) {
	for _, i := range list {
		if i.Labels[names.NetworkNodeLabelPrefix+"1"] != "" && i.Labels[names.NetworkNodeLabelPrefix+"3"] != "" {
			n++
		}
	}
	return n
}

func TestTopology(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	w.Launch(slices.Concat(machines(250, "p5.48xlarge"), machines(20, "m5.large"), machines(20, "c7g.large"))...)
	list, err := w.source.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := layersOf(list); got != 250 {
		t.Errorf("%d instances have labels, want 250", got)
	}
	// One page of instances, three times 100 IDs; one of each other type is among them.
	w.WantCalls(4)
	if list, err = w.source.List(t.Context()); err != nil || layersOf(list) != 250 {
		t.Errorf("second list: %d labelled, %v", layersOf(list), err)
	}
	w.WantCalls(1)
	w.Launch(machines(3, "p5.48xlarge")...)
	if list, err = w.source.List(t.Context()); err != nil || layersOf(list) != 253 {
		t.Errorf("with new ones: %d labelled, %v", layersOf(list), err)
	}
	w.WantCalls(2)
}

func TestTopologyOfOptionalTypes(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	w.source.topology.Required = nil
	w.Launch(machines(30, "p5.48xlarge")...)
	list, err := w.source.List(t.Context())
	if err != nil || layersOf(list) != 30 {
		t.Errorf("%d labelled, %v", layersOf(list), err)
	}
	// One page of instances, one instance to find out, and the others.
	w.WantCalls(3)
}

func TestMissingTopologyBlocksOnlyInitialization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		nodes := w.Launch(world.Machine{Type: "p5.48xlarge"}, world.Machine{})
		w.Cloud.Cloud.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: "DescribeInstanceTopology", Times: kit.Always})
		i := w.instances()
		if _, err := i.InstanceMetadata(t.Context(), nodes[0]); err == nil {
			t.Error("a node of a required type was initialised")
		}
		if _, err := i.InstanceMetadata(t.Context(), nodes[1]); err != nil {
			t.Errorf("a node of another type: %v", err)
		}
		ready := simtest.InitializedNode(nodes[0].Name, "aws:///us-west-2a/"+w.Cloud.Cloud.Instance(nodes[0].Name))
		if exists, err := i.InstanceExists(t.Context(), ready); !exists || err != nil {
			t.Errorf("exists %v, %v", exists, err)
		}
		if _, err := i.InstanceMetadata(t.Context(), ready); err != nil {
			t.Errorf("refresh: %v", err)
		}
		w.Cloud.Cloud.Front().SetFaults()
		time.Sleep(commoninstances.JoinMaxAge + time.Second)
		m, err := i.InstanceMetadata(t.Context(), nodes[0])
		if err != nil || m.AdditionalLabels[names.NetworkNodeLabelPrefix+"1"] == "" {
			t.Errorf("when EC2 answers again: %v, %v", m, err)
		}
	})
}

func TestDeniedTopologyIsNotRetriedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{Allow: func(action string) bool { return action != "ec2:DescribeInstanceTopology" }})
		node := w.Launch(world.Machine{Type: "p5.48xlarge"})[0]
		i := w.instances()
		for range 3 {
			if m, err := i.InstanceMetadata(t.Context(), node); err != nil || m.AdditionalLabels[names.NetworkNodeLabelPrefix+"1"] != "" {
				t.Errorf("metadata %v, %v", m, err)
			}
			time.Sleep(time.Minute)
		}
		if n := w.Cloud.Cloud.Front().Log().Count()["DescribeInstanceTopology"]; n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
		time.Sleep(topologyAge)
		w.metadata(t.Context(), i, node)
		if n := w.Cloud.Cloud.Front().Log().Count()["DescribeInstanceTopology"]; n != 2 {
			t.Errorf("%d reads after a day", n)
		}
	})
}

func TestTopologySkipsDeletedInstance(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	w.Launch(machines(4, "p5.48xlarge")...)
	found, err := w.conn.describe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	missing := "i-00000000000000001"
	found[2].InstanceId = &missing
	p := w.source.topology.get(t.Context(), found)
	if len(p.errs) != 0 || len(p.layers) != 3 {
		t.Errorf("layers %v, errors %v", p.layers, p.errs)
	}
}

func TestTopologyIsNotReadForInitializedNodes(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	launched := w.Launch(machines(3, "p5.48xlarge")...)
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range launched {
		node := simtest.InitializedNode(n.Name, "aws:///us-west-2a/"+w.Cloud.Cloud.Instance(n.Name))
		if err := indexer.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	w.source.nodes = &nodes.LazyLister{}
	w.source.nodes.Set(corelisters.NewNodeLister(indexer), nil)
	if list, err := w.source.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("%d instances, %v", len(list), err)
	}
	w.WantCalls(1)

	// A Node that registers again is initialized again, whatever its provider ID.
	again := simtest.InitializedNode(launched[0].Name, "aws:///us-west-2a/"+w.Cloud.Cloud.Instance(launched[0].Name))
	again.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	if err := indexer.Update(again); err != nil {
		t.Fatal(err)
	}
	list, err := w.source.List(t.Context())
	if n := layersOf(list); err != nil || n != 1 {
		t.Errorf("%d instances with layers, %v", n, err)
	}
	w.WantCalls(2)
}
