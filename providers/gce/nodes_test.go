package gce_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
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

// The instances of nodes that have just joined are known with their ranges: no call is added.
func TestPodCIDRsAreAliasRanges(t *testing.T) {
	t.Parallel()
	pods := netip.MustParsePrefix("10.4.0.0/14")
	world := newWorld(t, sim.Options{Pods: pods})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	client := kubefake.NewClientset()
	instances, _ := cloud.InstancesV2()
	var joining sync.WaitGroup
	for i := range 50 {
		node, err := world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		joining.Go(func() {
			metadata, err := instances.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Error(err)
				return
			}
			node.Spec.ProviderID, node.Spec.PodCIDR, node.Spec.PodCIDRs = metadata.ProviderID, "", nil
			if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	joining.Wait()
	since := world.Front().Log().Len()
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
	seen := map[string]bool{}
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			clear(seen)
			for _, n := range list.Items {
				p, err := netip.ParsePrefix(n.Spec.PodCIDR)
				if err == nil && p.Bits() == 24 && pods.Contains(p.Addr()) {
					seen[n.Spec.PodCIDR] = true
				}
			}
			return len(seen) == 50, nil
		})
	if err != nil {
		t.Error(err)
	}
	if calls := counted(world, since); len(seen) != 50 || len(calls) > 0 {
		t.Errorf("%d podCIDRs with %d calls: %q", len(seen), len(calls), calls)
	}
}
