package gce_test

import (
	"errors"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
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
