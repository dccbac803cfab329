package vsphere_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// one is a provider with one vCenter and n nodes.
func one(t testing.TB, n int) (*sim.Cloud, *vsphere.Cloud, cloudprovider.InstancesV2, []*v1.Node) {
	t.Helper()
	w := newWorld(t, "")
	c, err := newCloud("", w)
	if err != nil {
		t.Fatal(err)
	}
	v2, _ := c.InstancesV2()
	return w, c, v2, launch(t, w, "node", n)
}

// exist fails the test unless the node's machine exists, or does not.
func exist(t testing.TB, v2 cloudprovider.InstancesV2, node *v1.Node, want bool) {
	t.Helper()
	if exists, err := v2.InstanceExists(t.Context(), node); err != nil || exists != want {
		t.Errorf("node %s with %q exists: %v, %v, want %v", node.Name, node.Spec.ProviderID, exists, err, want)
	}
}

// inBubble runs a test on a clock that advances when everything waits.
func inBubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestNodeIsFoundInEveryFormOfItsUUID(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, _, v2, nodes := one(t, 3)
		swapped := strings.ToLower(nodes[0].Status.NodeInfo.SystemUUID)
		bios := sim.SwapBytes(uuid.MustParse(swapped))
		for name, node := range map[string]v1.Node{
			"system UUID swapped":                {Status: v1.NodeStatus{NodeInfo: v1.NodeSystemInfo{SystemUUID: strings.ToUpper(swapped)}}},
			"system UUID as the BIOS has it":     {Status: v1.NodeStatus{NodeInfo: v1.NodeSystemInfo{SystemUUID: bios}}},
			"provider ID":                        {Spec: v1.NodeSpec{ProviderID: "vsphere://" + bios}},
			"provider ID in capitals":            {Spec: v1.NodeSpec{ProviderID: "vsphere://" + strings.ToUpper(bios)}},
			"provider ID with blanks":            {Spec: v1.NodeSpec{ProviderID: "vsphere://" + bios + " "}},
			"provider ID without a scheme":       {Spec: v1.NodeSpec{ProviderID: bios}},
			"provider ID with its bytes swapped": {Spec: v1.NodeSpec{ProviderID: "vsphere://" + swapped}},
		} {
			node.Name = "another-name"
			m, err := v2.InstanceMetadata(t.Context(), &node)
			if err != nil || m.ProviderID != "vsphere://"+bios {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
			exist(t, v2, &node, true)
			if stopped, err := v2.InstanceShutdown(t.Context(), &node); err != nil || stopped {
				t.Errorf("%s: shut down: %v, %v", name, stopped, err)
			}
		}
	})
}

func TestNodeWithoutSystemUUIDIsFoundByNameThenAddress(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, _, v2, nodes := one(t, 2)
		want, err := v2.InstanceMetadata(t.Context(), nodes[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"node-1", "10.0.0.2"} {
			node := &v1.Node{}
			node.Name = name
			m, err := v2.InstanceMetadata(t.Context(), node)
			if err != nil || m.ProviderID != want.ProviderID {
				t.Errorf("%s: %+v, %v, want %s", name, m, err, want.ProviderID)
			}
		}
		for _, name := range []string{"NODE-1", "node-1.example.com"} {
			node := &v1.Node{}
			node.Name = name
			if _, err := v2.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	})
}

func TestSystemUUIDDistinguishesEqualHostNames(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 2)
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) { vm.Guest.HostName = "node-0" }); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, node := range nodes {
			node.Name = "node-0"
			m, err := v2.InstanceMetadata(t.Context(), node)
			if err != nil {
				t.Fatal(err)
			}
			seen[m.ProviderID] = true
		}
		if len(seen) != 2 {
			t.Errorf("the nodes have provider IDs %v", seen)
		}
		nodes[0].Status.NodeInfo.SystemUUID = ""
		_, err := v2.InstanceMetadata(t.Context(), nodes[0])
		if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), "node-0 (") || !strings.Contains(err.Error(), "node-1 (") {
			t.Errorf("without a system UUID: error %v", err)
		}
	})
}

func TestForeignAndMalformedProviderIDsProveNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 1)
		for id, want := range map[string]provider.Ownership{
			"kind://docker/kind/node-0": provider.Foreign, "aws:///z/i-1": provider.Foreign,
			"vsphere://": provider.Unknown, "vsphere://x": provider.Unknown, "x": provider.Unknown,
			"vsphere://00000000-0000-0000-0000-00000000000": provider.Unknown,
		} {
			node := nodes[0].DeepCopy()
			node.Spec.ProviderID = id
			if have := c.OwnsNode(node); have != want {
				t.Errorf("%s is %s, want %s", id, have, want)
			}
			var foreign *instances.ForeignIDError
			var malformed *instances.MalformedIDError
			if _, err := v2.InstanceExists(t.Context(), node); !errors.As(err, &foreign) && !errors.As(err, &malformed) {
				t.Errorf("%s exists: error %v", id, err)
			}
			if _, err := v2.InstanceShutdown(t.Context(), node); err == nil {
				t.Errorf("%s is shut down: no error", id)
			}
		}
		if n := w.Front().Log().Len(); n > 0 {
			t.Errorf("%d calls for nodes of other clouds", n)
		}
	})
}

func TestNodeWithPresetProviderIDJoinsOnceToolsReport(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 2)
		initializedID := "vsphere://" + sim.SwapBytes(uuid.MustParse(nodes[0].Status.NodeInfo.SystemUUID))
		nodes[0].Spec.ProviderID = initializedID
		var guest *types.GuestInfo
		if err := w.Update("node-0", func(vm *simulator.VirtualMachine) { guest, vm.Guest = vm.Guest, &types.GuestInfo{} }); err != nil {
			t.Fatal(err)
		}
		if _, err := v2.InstanceMetadata(t.Context(), nodes[0]); err == nil || !strings.Contains(err.Error(), "VMware Tools") {
			t.Errorf("error %v", err)
		}
		exist(t, v2, nodes[0], true)
		if err := w.Update("node-0", func(vm *simulator.VirtualMachine) { vm.Guest = guest }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if m, err := v2.InstanceMetadata(t.Context(), nodes[0]); err != nil || m.ProviderID != initializedID {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestPoweredOffMachineWithoutGuestDataIsShutDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 2)
		initialize(t, c, nodes)
		if err := w.Stop("node-0"); err != nil {
			t.Fatal(err)
		}
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) {
			vm.Runtime.PowerState = types.VirtualMachinePowerStateSuspended
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		for _, node := range nodes {
			exist(t, v2, node, true)
			if stopped, err := v2.InstanceShutdown(t.Context(), node); err != nil || !stopped {
				t.Errorf("%s: %v, %v", node.Name, stopped, err)
			}
		}
		// The framework keeps the addresses of a node for which it gets none.
		if m, err := v2.InstanceMetadata(t.Context(), nodes[0]); err != nil || len(m.NodeAddresses) > 0 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestMachineCountsAsDeletedOnlyWithProof(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 4)
		initialize(t, c, nodes)
		if err := errors.Join(w.Terminate("node-0"), w.Hide("node-1")); err != nil {
			t.Fatal(err)
		}
		if err := w.Update("node-2", func(vm *simulator.VirtualMachine) {
			vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateInaccessible
			vm.Guest = &types.GuestInfo{}
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		exist(t, v2, nodes[0], false)
		if _, err := v2.InstanceExists(t.Context(), nodes[1]); !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("a machine that the account cannot see: error %v", err)
		}
		exist(t, v2, nodes[2], true)
		exist(t, v2, nodes[3], true)
		w.EndSessions()
		time.Sleep(5 * time.Minute)
		exist(t, v2, nodes[3], true)
		exist(t, v2, nodes[0], false)
	})
}

func TestSharedUUIDIsAnErrorUnlessOneMachineRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 2)
		initialize(t, c, nodes)
		id := strings.TrimPrefix(nodes[0].Spec.ProviderID, "vsphere://")
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) {
			vm.Config.Uuid, vm.Summary.Config.Uuid = id, id
			vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if m, err := v2.InstanceMetadata(t.Context(), nodes[0]); err != nil || m.NodeAddresses[0].Address != "node-0" {
			t.Errorf("%+v, %v", m, err)
		}
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) {
			vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := v2.InstanceMetadata(t.Context(), nodes[0]); !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("error %v", err)
		}
		if err := w.Update("node-1", func(vm *simulator.VirtualMachine) { vm.Summary.Config.Template = true }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		exist(t, v2, nodes[0], true)
	})
}

func TestSessionsAreRenewedInBothAPIs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, _, nodes := one(t, 10)
		initialize(t, c, nodes[:5])
		for name, end := range map[string]func(){"SOAP": w.EndSessions, "REST": w.EndRESTSessions} {
			end()
			time.Sleep(15 * time.Minute)
			calls(t, w, "refresh after the end of the sessions of "+name, 6, func() { initialize(t, c, nodes[:5]) })
		}
		w.EndSessions()
		w.EndRESTSessions()
		time.Sleep(15 * time.Minute)
		initialize(t, c, nodes)
	})
}

func TestRejectedPasswordIsTriedOnceInAWhile(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, c, v2, nodes := one(t, 10)
		w.SetPassword("another")
		for range 10 {
			for _, node := range nodes {
				if _, err := v2.InstanceMetadata(t.Context(), node); !cloudapi.Is(err, cloudapi.Denied) ||
					!strings.Contains(err.Error(), "user "+sim.User) || strings.Contains(err.Error(), sim.Password) {
					t.Errorf("error %v", err)
				}
			}
			time.Sleep(2 * time.Second)
		}
		logins := 0
		for _, call := range w.Front().Log().Calls() {
			if call.Name == "Login" {
				logins++
			}
		}
		if logins != 1 {
			t.Errorf("%d logins in 20 s", logins)
		}
		if err := c.Check(t.Context()); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("check: error %v", err)
		}
		if c.Health()[0].Err == nil {
			t.Error("the provider is healthy")
		}
		w.SetPassword(sim.Password)
		time.Sleep(time.Minute)
		initialize(t, c, nodes)
		if err := c.Health()[0].Err; err != nil {
			t.Errorf("health: %v", err)
		}
	})
}

// vCenter Single Sign-On locks an account after 5 failed attempts within 3 minutes.
func TestRejectedPasswordIsTriedLessAndLessOften(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 1)
		w.SetPassword("another")
		start := time.Now()
		for time.Since(start) < 2*time.Hour {
			if _, err := v2.InstanceMetadata(t.Context(), nodes[0]); !cloudapi.Is(err, cloudapi.Denied) {
				t.Fatalf("error %v", err)
			}
			time.Sleep(10 * time.Second)
		}
		logins := 0
		for _, call := range w.Front().Log().Calls() {
			if call.Name == "Login" {
				logins++
			}
		}
		if logins < 8 || logins > 12 {
			t.Errorf("%d logins in 2 hours", logins)
		}
	})
}

func TestDatacentersLimitTheScope(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for scope, want := range map[string]bool{
			"DC0": true, "DC*": true, "/DC0": true, "DC1": false, "/other/DC0": false,
			"Datacenter:datacenter-99": false, "DC1, DC0": true, "this": true,
		} {
			w := newWorld(t, "")
			if scope == "this" {
				scope = "Datacenter:" + w.Datacenter().Value
			}
			c, err := newCloud(fmt.Sprintf("[Global]\ndatacenters = %q\n", scope), w)
			if err != nil {
				t.Fatal(err)
			}
			v2, _ := c.InstancesV2()
			node := launch(t, w, "node", 1)[0]
			_, err = v2.InstanceMetadata(t.Context(), node)
			if found := err == nil; found != want {
				t.Errorf("datacenters = %s: %v", scope, err)
			}
		}
	})
}

func TestZonesComeFromTheNearestTagOfTheFirstCompleteChain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 1)
		host := w.HostOf("node-0")
		if err := w.Attach(sim.CategoryZone, "host-zone", host); err != nil {
			t.Fatal(err)
		}
		if m, err := v2.InstanceMetadata(t.Context(), nodes[0]); err != nil || m.Zone != "host-zone" || m.Region != sim.Region {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestNodeWithoutZoneJoinsOnceTagged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, v2, nodes := one(t, 1)
		cluster := w.ClusterOf("node-0")
		if err := w.Detach(cluster); err != nil {
			t.Fatal(err)
		}
		if _, err := v2.InstanceMetadata(t.Context(), nodes[0]); err == nil || !strings.Contains(err.Error(), sim.CategoryZone) {
			t.Errorf("error %v", err)
		}
		if err := w.Attach(sim.CategoryZone, "new-zone", cluster); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		m, err := v2.InstanceMetadata(t.Context(), nodes[0])
		if err != nil || m.Zone != "new-zone" {
			t.Errorf("%+v, %v", m, err)
		}
		if types := []v1.NodeAddressType{v1.NodeHostName, v1.NodeInternalIP, v1.NodeExternalIP}; !slices.EqualFunc(m.NodeAddresses, types,
			func(a v1.NodeAddress, want v1.NodeAddressType) bool { return a.Type == want }) {
			t.Errorf("addresses %v", m.NodeAddresses)
		}
	})
}
