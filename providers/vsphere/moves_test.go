package vsphere_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

func TestMachineMovedToAnotherVCenterExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := newWorld(t, "from"), newWorld(t, "to")
		c, err := newCloud("", from, to)
		if err != nil {
			t.Fatal(err)
		}
		node := launch(t, from, "node", 1)[0]
		v2, _ := c.InstancesV2()
		m, err := v2.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.ProviderID = m.ProviderID
		launch(t, to, "node", 1)
		if err := errors.Join(from.Terminate("node-0"), to.Update("node-0", func(vm *simulator.VirtualMachine) {
			vm.Config.Uuid = m.ProviderID[len("vsphere://"):]
			vm.Summary.Config.Uuid = vm.Config.Uuid
		})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		exist(t, v2, node, true)
		if moved, err := v2.InstanceMetadata(t.Context(), node); err != nil || moved.ProviderID != m.ProviderID {
			t.Errorf("%+v, %v", moved, err)
		}
		if err := to.Terminate("node-0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		exist(t, v2, node, false)
	})
}

// A machine exists in every state of its connection, also for a manager that has not seen it before.
func TestMachineExistsInEveryConnectionState(t *testing.T) {
	for _, state := range []types.VirtualMachineConnectionState{
		types.VirtualMachineConnectionStateDisconnected, types.VirtualMachineConnectionStateOrphaned,
		types.VirtualMachineConnectionStateInaccessible, types.VirtualMachineConnectionStateInvalid,
	} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, c, v2, nodes := one(t, 1)
				initialize(t, c, nodes)
				if err := w.Update("node-0", func(vm *simulator.VirtualMachine) {
					vm.Runtime.ConnectionState, vm.Guest = state, &types.GuestInfo{}
				}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Minute)
				exist(t, v2, nodes[0], true)
				restarted, err := newCloud("", w)
				if err != nil {
					t.Fatal(err)
				}
				again, _ := restarted.InstancesV2()
				exist(t, again, nodes[0], true)
			})
		})
	}
}

// clientBuilder implements cloudprovider.ControllerClientBuilder with one client.
type clientBuilder struct{ kubernetes.Interface }

func (b clientBuilder) Config(string) (*restclient.Config, error)   { return &restclient.Config{}, nil }
func (b clientBuilder) ConfigOrDie(string) *restclient.Config       { return &restclient.Config{} }
func (b clientBuilder) Client(string) (kubernetes.Interface, error) { return b.Interface, nil }
func (b clientBuilder) ClientOrDie(string) kubernetes.Interface     { return b.Interface }

// The Secret and the password of the account are changed one after the other, in either order. Sessions end in between.
func TestRotatedSecretIsUsedInEitherOrder(t *testing.T) {
	for name, secretFirst := range map[string]bool{"Secret first": true, "account first": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "")
				c := provide(t, "", fmt.Sprintf("[VirtualCenter \"vc.test\"]\nsecret-name = s\nsecret-namespace = ns\n"+
					"[Labels]\nregion = %s\nzone = %s\n", sim.CategoryRegion, sim.CategoryZone), nil, w.Front().Transport())
				secret := func(password string) *v1.Secret {
					return &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{
						"vc.test.username": []byte(sim.User), "vc.test.password": []byte(password)}}
				}
				cluster := fake.NewClientset(secret(sim.Password))
				c.Initialize(clientBuilder{cluster}, nil)
				nodes := launch(t, w, "node", 2)
				initialize(t, c, nodes[:1])
				changeSecret := func() {
					secrets := cluster.CoreV1().Secrets("ns")
					if _, err := secrets.Update(t.Context(), secret("rotated"), metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				changeAccount := func() { w.SetPassword("rotated") }
				steps := []func(){changeAccount, changeSecret}
				if secretFirst {
					steps = []func(){changeSecret, changeAccount}
				}
				steps[0]()
				w.EndSessions()
				w.EndRESTSessions()
				time.Sleep(5 * time.Minute)
				v2, _ := c.InstancesV2()
				if exists, err := v2.InstanceExists(t.Context(), nodes[0]); err == nil && !exists {
					t.Error("a machine counts as deleted while the password is rejected")
				}
				steps[1]()
				time.Sleep(time.Minute)
				initialize(t, c, nodes)
				if err := c.Health()[0].Err; err != nil {
					t.Errorf("health: %v", err)
				}
			})
		})
	}
}

// A copy of a machine with the same UUID, which is powered off, is never the node.
func TestStoppedCopyIsNotTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		// Objects are read in the order of their identifiers.
		nodes := launch(t, w, "node", 2)
		copied, original := nodes[0], nodes[1]
		bios := ""
		if err := w.Update(original.Name, func(vm *simulator.VirtualMachine) { bios = vm.Config.Uuid }); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Update(copied.Name, func(vm *simulator.VirtualMachine) {
			vm.Config.Uuid, vm.Summary.Config.Uuid = bios, bios
		}), w.Stop(copied.Name)); err != nil {
			t.Fatal(err)
		}
		original.Spec.ProviderID, original.Spec.Taints = "vsphere://"+bios, nil
		v2, _ := restart(t, []*v1.Node{original}, w).InstancesV2()
		for range 4 {
			m, err := v2.InstanceMetadata(t.Context(), original)
			if err != nil || len(m.NodeAddresses) == 0 {
				t.Errorf("%+v, %v", m, err)
			}
			if stopped, err := v2.InstanceShutdown(t.Context(), original); err != nil || stopped {
				t.Errorf("shut down: %t, %v", stopped, err)
			}
			time.Sleep(5 * time.Minute)
		}
	})
}
