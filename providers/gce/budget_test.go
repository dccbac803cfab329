package gce_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// counted returns the calls since a position of the log, without those that wait for operations.
func counted(world *sim.Cloud, since int) []string {
	var out []string
	for _, entry := range world.Front().Log().Calls()[since:] {
		if !strings.HasSuffix(entry.Operation.Name, ".wait") {
			out = append(out, entry.Operation.Name)
		}
	}
	return out
}

func TestNodesJoinWithFewCalls(t *testing.T) {
	t.Parallel()
	world := newWorld(t, sim.Options{})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	nodes := make([]*v1.Node, 1000)
	for i := range nodes {
		if nodes[i], err = world.Launch(conformance.Machine{Name: fmt.Sprintf("node-%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	instances, _ := cloud.InstancesV2()
	since := world.Front().Log().Len()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, node := range nodes {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			metadata, err := instances.InstanceMetadata(t.Context(), node)
			if err != nil || !strings.HasSuffix(metadata.ProviderID, "/"+node.Name) || metadata.Region != "europe-west1" {
				t.Errorf("%s: %+v, %v", node.Name, metadata, err)
			}
		})
	}
	wg.Wait()
	if calls := counted(world, since); len(calls) > 12 {
		t.Errorf("%d calls: %q", len(calls), calls)
	}
}

func TestServicesNeedFewCalls(t *testing.T) {
	t.Parallel()
	world := newWorld(t, sim.Options{})
	cloud, err := newCloud(world, "")
	if err != nil {
		t.Fatal(err)
	}
	node, err := world.Launch(conformance.Machine{Name: "node-1", Zone: "europe-west1-b"})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.ProviderID, node.Spec.Taints = "gce://simulated/europe-west1-b/node-1", nil
	node.Labels[v1.LabelTopologyZone] = "europe-west1-b"
	balancers, _ := cloud.LoadBalancer()
	service := func(i int) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web", i),
				UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i))},
			Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
				Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
		}
	}
	ensure := func(i int) []string {
		since := world.Front().Log().Len()
		if _, err := balancers.EnsureLoadBalancer(t.Context(), "c", service(i), []*v1.Node{node}); err != nil {
			t.Fatal(err)
		}
		return counted(world, since)
	}
	ensure(0)
	if calls := ensure(1); len(calls) > 8 {
		t.Errorf("a creation made %d calls: %q", len(calls), calls)
	}
	if calls := ensure(1); len(calls) > 0 {
		t.Errorf("without a change: %q", calls)
	}
	for i := range 48 {
		ensure(2 + i)
	}
	// A restart over all Services.
	if cloud, err = newCloud(world, ""); err != nil {
		t.Fatal(err)
	}
	balancers, _ = cloud.LoadBalancer()
	since := world.Front().Log().Len()
	for i := range 50 {
		ensure(i)
	}
	if calls := counted(world, since); len(calls) > 8 {
		t.Errorf("a restart made %d calls: %q", len(calls), calls)
	}
}
