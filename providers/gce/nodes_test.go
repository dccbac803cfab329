package gce_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

func TestStoppedInstancesAreShutDown(t *testing.T) {
	t.Parallel()
	world := newWorld(t, sim.Options{})
	node, err := world.Launch(conformance.Machine{Name: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]bool{"RUNNING": false, "TERMINATED": true, "SUSPENDED": true, "STOPPING": false} {
		if err := world.SetInstanceStatus("node-1", status); err != nil {
			t.Fatal(err)
		}
		cloud, err := newCloud(world, "")
		if err != nil {
			t.Fatal(err)
		}
		instances, _ := cloud.InstancesV2()
		if got, err := instances.InstanceShutdown(t.Context(), node); err != nil || got != want {
			t.Errorf("%s: shut down %t, %v", status, got, err)
		}
	}
}

// Only an answer about the instance itself deletes a node.
func TestDeniedReadsProveNothing(t *testing.T) {
	t.Parallel()
	world := newWorld(t, sim.Options{})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := world.Launch(conformance.Machine{Name: "node-1", Zone: "europe-west1-b"}); err != nil {
		t.Fatal(err)
	}
	instances, _ := cloud.InstancesV2()
	gone := &v1.Node{Spec: v1.NodeSpec{ProviderID: "gce://simulated/europe-west1-b/node-9"}}
	world.SetDeny(func(permission, _ string) bool { return permission == "compute.instances.list" })
	if _, err := instances.InstanceExists(t.Context(), gone); !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("without the list: %v", err)
	}
	world.SetDeny(nil)
	if exists, err := instances.InstanceExists(t.Context(), gone); err != nil || exists {
		t.Errorf("exists %t, %v", exists, err)
	}
	foreign := &v1.Node{Spec: v1.NodeSpec{ProviderID: "gce://other/europe-west1-b/node-1"}}
	if got := cloud.OwnsNode(foreign); got != provider.Foreign {
		t.Errorf("a node of another project is %s", got)
	}
	if _, err := instances.InstanceExists(t.Context(), foreign); err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("a node of another project: %v", err)
	}
}

func TestUnmanagedNodesAreForeign(t *testing.T) {
	t.Parallel()
	cloud, err := newCloud(newWorld(t, sim.Options{}), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Check(t.Context()); err != nil { // The project is known then.
		t.Fatal(err)
	}
	const label = "components.gke.io/gke-unmanaged-node"
	for name, tc := range map[string]struct {
		labels     map[string]string
		providerID string
		want       provider.Ownership
	}{
		"managed":                      {providerID: "gce://simulated/europe-west1-b/node-1", want: provider.Mine},
		"unmanaged":                    {map[string]string{label: "true"}, "gce://simulated/europe-west1-b/node-1", provider.Foreign},
		"unmanaged, no provider ID":    {map[string]string{label: "true"}, "", provider.Foreign},
		"another value of the label":   {map[string]string{label: "false"}, "gce://simulated/europe-west1-b/node-1", provider.Mine},
		"no provider ID and no labels": {want: provider.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}, Spec: v1.NodeSpec{ProviderID: tc.providerID}}
			if got := cloud.OwnsNode(node); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// initialized returns the Node with its provider ID, and without podCIDRs.
func initialized(t *testing.T, cloud *gce.Cloud, node *v1.Node) *v1.Node {
	t.Helper()
	instances, _ := cloud.InstancesV2()
	metadata, err := instances.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Error(err)
		return node
	}
	node = node.DeepCopy()
	node.UID = types.UID("uid of " + node.Name)
	node.Spec.ProviderID, node.Spec.PodCIDR, node.Spec.PodCIDRs = metadata.ProviderID, "", nil
	return node
}

// startPodCIDRs starts the controller that sets the podCIDRs of the client's Nodes.
func startPodCIDRs(t *testing.T, cloud *gce.Cloud, client kubernetes.Interface, pods netip.Prefix) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(client, 0)
	started, err := cloud.StartController(t.Context(), nodeipam.Name, provider.ControllerContext{
		Client: client, Nodes: factory.Core().V1().Nodes(), Owns: cloud.OwnsNode, Clock: clock.RealClock{},
		Recorder: record.NewFakeRecorder(100), AllocateNodeCIDRs: true, CIDRAllocatorType: nodeipam.CloudAllocator,
		PodCIDRs: podcidr.Config{Cluster: []netip.Prefix{pods}},
	})
	if !started || err != nil {
		t.Fatalf("started %v, %v", started, err)
	}
	factory.Start(t.Context().Done())
}

// awaitPodCIDRs returns the podCIDRs of all Nodes by name, once the given number of them has one.
func awaitPodCIDRs(t *testing.T, client kubernetes.Interface, want int) map[string]string {
	t.Helper()
	has := map[string]string{}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for _, n := range list.Items {
				if n.Spec.PodCIDR != "" {
					has[n.Name] = n.Spec.PodCIDR
				}
			}
			return len(has) == want, nil
		})
	if err != nil {
		t.Errorf("%d podCIDRs: %v", len(has), err)
	}
	return has
}

// Nodes that join at once share a few reads of their ranges.
func TestPodCIDRsAreAliasRanges(t *testing.T) {
	t.Parallel()
	const nodes = 50
	pods := netip.MustParsePrefix("10.4.0.0/14")
	world := newWorld(t, sim.Options{Pods: pods})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	client := kubefake.NewClientset()
	want := map[string]string{}
	var joining sync.WaitGroup
	for i := range nodes {
		node, err := world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		want[node.Name] = node.Spec.PodCIDR
		joining.Go(func() {
			node := initialized(t, cloud, node)
			if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	joining.Wait()
	since := world.Front().Log().Len()
	startPodCIDRs(t, cloud, client, pods)
	if diff := cmp.Diff(want, awaitPodCIDRs(t, client, nodes)); diff != "" {
		t.Errorf("podCIDRs (-alias ranges +got):\n%s", diff)
	}
	if calls := counted(world, since); len(calls) > 20 {
		t.Errorf("%d calls: %q", len(calls), calls)
	}
}

// An instance that is created again under its name has another alias range, and its former one may be another
// instance's: what was read of the former instance is not used.
func TestPodCIDROfInstanceThatIsCreatedAgain(t *testing.T) {
	t.Parallel()
	pods := netip.MustParsePrefix("10.4.0.0/14")
	world := newWorld(t, sim.Options{Pods: pods})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	launch := func() *v1.Node {
		node, err := world.Launch(conformance.Machine{Name: "node-0", Zone: "europe-west1-b"})
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	former := launch()
	node := initialized(t, cloud, former) // what is read here is cached
	if err := world.Terminate("node-0"); err != nil {
		t.Fatal(err)
	}
	want := launch().Spec.PodCIDR
	if want == "" || want == former.Spec.PodCIDR {
		t.Fatalf("alias ranges %q and %q, want two", former.Spec.PodCIDR, want)
	}
	client := kubefake.NewClientset(node)
	startPodCIDRs(t, cloud, client, pods)
	if got := awaitPodCIDRs(t, client, 1)["node-0"]; got != want {
		t.Errorf("podCIDR %q, want %q", got, want)
	}
}

// A provider ID without an instance keeps no other Node without podCIDRs. One that cannot be that of an instance
// is of nobody.
func TestProviderIDsWithoutInstance(t *testing.T) {
	t.Parallel()
	pods := netip.MustParsePrefix("10.4.0.0/14")
	for _, nodes := range []int{1, 6} { // instances are read one by one, and by a list
		world := newWorld(t, sim.Options{Pods: pods})
		cloud, err := newCloud(world, "")
		if err != nil {
			t.Fatal(err)
		}
		client := kubefake.NewClientset()
		create := func(node *v1.Node) {
			if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range []string{"europe-west1-b/(", "europe-west1-b/a|b", "nowhere/node-0", "europe-west1-b/none"} {
			create(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("without-%d", i)},
				Spec: v1.NodeSpec{ProviderID: "gce://simulated/" + id}})
		}
		for i := range nodes {
			node, err := world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%d", i)})
			if err != nil {
				t.Fatal(err)
			}
			create(initialized(t, cloud, node))
		}
		startPodCIDRs(t, cloud, client, pods)
		awaitPodCIDRs(t, client, nodes)
	}
	cloud, err := newCloud(newWorld(t, sim.Options{}), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := cloud.OwnsNode(&v1.Node{Spec: v1.NodeSpec{ProviderID: "gce://simulated/europe-west1-b/("}}); got != provider.Unknown {
		t.Errorf("a node with a malformed provider ID is %s", got)
	}
}

// The instance of another cluster in another region is not that of a Node of its name, however it is read.
func TestInstancesOfOtherRegions(t *testing.T) {
	t.Parallel()
	world := newWorld(t, sim.Options{OtherRegions: []string{"us-east1"}})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	node, err := world.Launch(conformance.Machine{Name: "node-1", Zone: "us-east1-b"})
	if err != nil {
		t.Fatal(err)
	}
	instances, _ := cloud.InstancesV2()
	if exists, err := instances.(provider.InstanceReader).JoiningInstanceExists(t.Context(), node); exists || err != nil {
		t.Errorf("exists %t, %v", exists, err)
	}
	if metadata, err := instances.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata %+v, %v", metadata, err)
	}
	node.Spec.ProviderID = "gce://simulated/us-east1-b/node-1"
	if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("by provider ID: exists %t, %v", exists, err)
	}
}
