package fake

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

func TestAdoptedNodesKeepWhatTheyHave(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	c := f.manager("instance-type = fake.large\n")
	node := joining("worker", "kind://docker/kind/worker")
	node.Labels[v1.LabelTopologyZone] = "fake-1c"
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "172.18.0.3"},
		{Type: v1.NodeHostName, Address: "worker"}}

	if owner := c.OwnsNode(node); owner != provider.Mine {
		t.Errorf("OwnsNode = %q, want %q", owner, provider.Mine)
	}
	got, err := c.instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "fake://fake-1c/kind-worker", InstanceType: "fake.large", Zone: "fake-1c", Region: "fake-1",
		NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "172.18.0.3"},
			{Type: v1.NodeHostName, Address: "worker"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	// It is a member of load balancers although its provider ID stays that of kind.
	f.ensure(c, service(1), []*v1.Node{node})
	if members := f.world.LoadBalancers()[0].Listeners[0].Members; len(members) != 1 || members[0] != "worker" {
		t.Errorf("members = %q, want worker", members)
	}
}

func TestAdoption(t *testing.T) {
	t.Parallel()
	const off = "adopt-unknown-nodes = false\n"
	tests := map[string]struct {
		config, providerID string
		exists             bool
		err                bool
		instances          int
	}{
		"a node without an ID":                 {"", "", true, false, 1},
		"a node of kind":                       {"", "kind://docker/kind/n", true, false, 1},
		"a node of kwok":                       {"", "kwok://n", true, false, 1},
		"another cloud's node is none of ours": {"", "aws:///us-east-1a/i-1", false, true, 0},
		"a node whose instance was terminated": {"", "fake://fake-1a/i-9", false, false, 0},
		"turned off: no ID":                    {off, "", false, false, 0},
		"disabled: a node of kind is foreign":  {off, "kind://docker/kind/n", false, true, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, sim.Options{})
			exists, err := f.manager(test.config).instances.InstanceExists(t.Context(), joining("n", test.providerID))
			if exists != test.exists || (err != nil) != test.err {
				t.Errorf("InstanceExists = %t, %v, want %t and an error: %t", exists, err, test.exists, test.err)
			}
			if n := f.world.Objects()["instances"]; n != test.instances {
				t.Errorf("%d instances, want %d", n, test.instances)
			}
		})
	}
}

// A cloud in memory forgets its instances when the manager restarts. Their nodes must not be
// taken for those of terminated machines, and deleted.
func TestForgetfulCloudAdoptsItsOwnNodesAgain(t *testing.T) {
	t.Parallel()
	start := func() *Cloud {
		cfg, _, err := config.Read("", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCloud(cfg)
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		c.Initialize(nil, stop)
		return c
	}
	before, err := start().instances.InstanceMetadata(t.Context(), joining("n", ""))
	if err != nil {
		t.Fatal(err)
	}
	node := joining("n", before.ProviderID)
	node.Labels[v1.LabelTopologyZone] = before.Zone
	restarted := start()
	if exists, err := restarted.instances.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Fatalf("InstanceExists = %t, %v, want true", exists, err)
	}
	after, err := restarted.instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	if after.ProviderID != before.ProviderID {
		t.Errorf("the provider ID was %s and is %s", before.ProviderID, after.ProviderID)
	}
}

func TestAThousandNodesAreAdoptedTogether(t *testing.T) {
	t.Parallel()
	const nodes, workers, most = 1000, 16, 20
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, sim.Options{})
		c := f.manager("")
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		for i := range nodes {
			if err := indexer.Add(joining(service(i).Name, "")); err != nil {
				t.Fatal(err)
			}
		}
		c.Nodes().Set(corelisters.NewNodeLister(indexer), nil)
		got := f.calls(func() {
			initialise(t, c, workers, nodes, func(i int) *v1.Node { return joining(service(i).Name, "") })
		})
		if n := f.world.Objects()["instances"]; n != nodes {
			t.Errorf("%d instances, want %d", n, nodes)
		}
		if n := f.world.Front().Log().Len(); n > most {
			t.Errorf("%d nodes were adopted in %d calls, want at most %d: %v", nodes, n, most, got)
		}
	})
}

func TestDryRunAdoptsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	c := f.manager("")
	c.SetRuntime(provider.Runtime{Recorder: &record.FakeRecorder{}, DryRun: true})
	if exists, err := c.instances.InstanceExists(t.Context(), joining("worker", "")); exists || err != nil {
		t.Errorf("InstanceExists = %t, %v; want false and no error", exists, err)
	}
	if changes := f.world.Front().Log().Mutations(); len(changes) > 0 {
		t.Errorf("a dry run changed the cloud: %v", changes)
	}
}
