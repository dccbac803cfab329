package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

var (
	_ world.World         = (*Cloud)(nil)
	_ world.HostNameFirst = (*Cloud)(nil)
)

// HostNameFirst implements world.HostNameFirst.
func (c *Cloud) HostNameFirst() {}

// The properties of machines.
const (
	cpus         = 2
	memoryMB     = 4096
	guestID      = "ubuntu64Guest"
	instanceType = "vsphere-vm.cpu-2.mem-4gb.os-ubuntu"
	// Network is the port group of machines.
	Network = "VM Network"
)

var errUnsupported = errors.New("a vCenter without NSX-T has no load balancers and no routes")

// Launch implements world.World. The machine's guest reports its name and one address. The node has the system
// UUID that firmware of hardware version 13 and later shows: the BIOS UUID with other byte order in its first
// groups.
func (c *Cloud) Launch(m world.Machine) (*v1.Node, error) {
	c.inventory.Lock()
	defer c.inventory.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.machines[m.Name]; exists {
		return nil, fmt.Errorf("machine %s exists", m.Name)
	}
	clusters := c.clusters()
	cluster := c.launched % len(clusters)
	for i := range clusters {
		if m.Zone == zoneName(i) {
			cluster = i
		}
	}
	c.launched++
	if m.Name == "" {
		m.Name = fmt.Sprintf("vm-%d", c.launched)
	}
	bios, err := uuid.NewRandomFromReader(rand.NewChaCha8(seed(c.options.Name, m.Name, c.launched)))
	if err != nil {
		return nil, err
	}
	vm := c.newMachine(m.Name, bios.String(), clusters[cluster])
	c.machines[m.Name] = &machine{vm: vm, zone: zoneName(cluster), address: vm.Guest.IpAddress}
	node := m.Node()
	node.Status.NodeInfo.SystemUUID = strings.ToUpper(SwapBytes(bios))
	return node, nil
}

// seed returns the seed of a machine's UUID, so that runs are repeatable.
func seed(cloud, name string, n int) (out [32]byte) {
	copy(out[:], fmt.Sprintf("%d/%s/%s", n, cloud, name))
	return out
}

// SwapBytes returns a UUID with the other byte order in its first three groups.
func SwapBytes(u uuid.UUID) string {
	for _, group := range [][]byte{u[0:4], u[4:6], u[6:8]} {
		slices.Reverse(group)
	}
	return u.String()
}

// newMachine adds a running virtual machine to a cluster. The caller holds both locks.
func (c *Cloud) newMachine(name, bios string, cluster mo.Entity) *simulator.VirtualMachine {
	registry, ctx := c.model.Map(), c.model.Service.Context
	compute := cluster.(*simulator.ClusterComputeResource)
	folder := c.folder()
	vm := &simulator.VirtualMachine{}
	vm.Name = name
	vm.ResourcePool, vm.Runtime.Host = compute.ResourcePool, &compute.Host[0]
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	// Required fields: clients with a schema refuse empty ones.
	vm.Runtime.FaultToleranceState = types.VirtualMachineFaultToleranceStateNotConfigured
	vm.Runtime.RecordReplayState = types.VirtualMachineRecordReplayStateInactive
	vm.Summary.OverallStatus = types.ManagedEntityStatusGreen
	vm.Summary.QuickStats.GuestHeartbeatStatus = types.ManagedEntityStatusGray
	vm.OverallStatus, vm.GuestHeartbeatStatus = vm.Summary.OverallStatus, vm.Summary.QuickStats.GuestHeartbeatStatus
	vm.Config = &types.VirtualMachineConfigInfo{
		Name: name, Uuid: bios, GuestId: guestID, Hardware: types.VirtualHardware{NumCPU: cpus, MemoryMB: memoryMB},
	}
	vm.Summary.Config = types.VirtualMachineConfigSummary{
		Name: name, Uuid: bios, GuestId: guestID, NumCpu: cpus, MemorySizeMB: memoryMB,
	}
	address := fmt.Sprintf("10.%d.%d.%d", c.launched>>16&255, c.launched>>8&255, c.launched&255)
	vm.Guest = &types.GuestInfo{
		HostName: name, IpAddress: address,
		ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsRunning),
		Net: []types.GuestNicInfo{{
			Network: Network, IpAddress: []string{address}, DeviceConfigId: 4000, Connected: true,
		}},
	}
	registry.PutEntity(folder, vm)
	registry.AddReference(ctx, folder, &folder.ChildEntity, vm.Self)
	summarize(vm)
	return vm
}

// summarize sets the parts of a virtual machine's summary that repeat its runtime and its guest: clients read either.
func summarize(vm *simulator.VirtualMachine) {
	vm.Summary.Vm, vm.Summary.Runtime = &vm.Self, vm.Runtime
	vm.Summary.Guest = nil
	if vm.Guest != nil {
		vm.Summary.Guest = &types.VirtualMachineGuestSummary{
			GuestId: vm.Guest.GuestId, HostName: vm.Guest.HostName, IpAddress: vm.Guest.IpAddress,
			ToolsRunningStatus: vm.Guest.ToolsRunningStatus,
		}
	}
}

// folder returns the folder of the datacenter's machines.
func (c *Cloud) folder() *simulator.Folder {
	registry := c.model.Map()
	dc := registry.Any("Datacenter").(*simulator.Datacenter)
	return registry.Get(dc.VmFolder).(*simulator.Folder)
}

// find returns a machine. The caller holds the lock.
func (c *Cloud) find(nodeName string) (*machine, error) {
	m := c.machines[nodeName]
	if m == nil {
		return nil, fmt.Errorf("no machine %s", nodeName)
	}
	return m, nil
}

// change calls a function with a machine while no call reads the inventory.
func (c *Cloud) change(nodeName string, change func(*machine)) error {
	c.inventory.Lock()
	defer c.inventory.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.find(nodeName)
	if err == nil {
		change(m)
	}
	return err
}

// Update changes a virtual machine, as its owner or VMware Tools would.
func (c *Cloud) Update(nodeName string, update func(*simulator.VirtualMachine)) error {
	return c.change(nodeName, func(m *machine) {
		c.model.Map().WithLock(c.model.Service.Context, m.vm.Self, func() {
			update(m.vm)
			summarize(m.vm)
		})
	})
}

// removeFromFolder removes a virtual machine from the folder. The caller holds the lock of the inventory.
func (c *Cloud) removeFromFolder(vm *simulator.VirtualMachine) {
	folder := c.folder()
	c.model.Map().RemoveReference(c.model.Service.Context, folder, &folder.ChildEntity, vm.Self)
}

// Machine implements world.World.
func (c *Cloud) Machine(nodeName string) (world.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.find(nodeName)
	if err != nil {
		return world.Machine{}, err
	}
	return world.Machine{Name: nodeName, Zone: m.zone, Region: Region, Type: instanceType}, nil
}

// InternalIP implements world.InternalIPs.
func (c *Cloud) InternalIP(nodeName string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.find(nodeName)
	if err != nil {
		return "", err
	}
	return m.address, nil
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.change(nodeName, func(m *machine) {
		delete(c.machines, nodeName)
		c.removeFromFolder(m.vm)
		c.model.Map().Remove(c.model.Service.Context, m.vm.Self)
	})
}

// Stop implements world.World. The guest's data is cleared, as a vCenter does some time after a machine was
// powered off, and vcsim does not.
func (c *Cloud) Stop(nodeName string) error {
	return c.Update(nodeName, func(vm *simulator.VirtualMachine) {
		vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
		vm.Guest = &types.GuestInfo{ToolsRunningStatus: "guestToolsNotRunning"}
	})
}

// Hide makes a machine invisible to the account: vcsim has no permissions.
func (c *Cloud) Hide(nodeName string) error {
	return c.change(nodeName, func(m *machine) {
		c.removeFromFolder(m.vm)
		m.vm.Config.Uuid, m.vm.Summary.Config.Uuid = "", ""
	})
}

// NSXT returns the NSX-T manager; nil without one.
func (c *Cloud) NSXT() *nsxt.Manager { return c.nsx }

// nodeOf returns the node of an address, "" without one.
func (c *Cloud) nodeOf(address string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.machines {
		if m.address == address {
			return name
		}
	}
	return ""
}

// LoadBalancers implements world.World.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	if c.nsx == nil {
		return nil
	}
	return c.nsx.LoadBalancers(c.nodeOf)
}

// DeleteLoadBalancer implements world.World.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	if c.nsx == nil {
		return errUnsupported
	}
	return c.nsx.DeleteLoadBalancer(name)
}

// Drift implements world.World.
func (c *Cloud) Drift(name string) ([]string, error) {
	if c.nsx == nil {
		return nil, errUnsupported
	}
	return c.nsx.Drift(name)
}

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	if c.nsx == nil {
		return nil
	}
	return c.nsx.Routes(c.nodeOf)
}

// AddForeignRoute implements world.World.
func (c *Cloud) AddForeignRoute(destination string) error {
	if c.nsx == nil {
		return errUnsupported
	}
	return c.nsx.AddForeignRoute(destination)
}

// Objects implements world.World.
func (c *Cloud) Objects() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{"VirtualMachine": len(c.machines)}
	if c.nsx != nil {
		maps.Copy(out, c.nsx.Objects())
	}
	return out
}

// Datacenter returns the datacenter.
func (c *Cloud) Datacenter() types.ManagedObjectReference {
	return c.model.Map().Any("Datacenter").Reference()
}

// HostOf returns the host of a machine.
func (c *Cloud) HostOf(nodeName string) types.ManagedObjectReference {
	return *c.vm(nodeName).Runtime.Host
}

// ClusterOf returns the cluster of a machine.
func (c *Cloud) ClusterOf(nodeName string) types.ManagedObjectReference {
	return *c.model.Map().Get(c.HostOf(nodeName)).(*simulator.HostSystem).Parent
}

// RefOf returns the reference of a machine.
func (c *Cloud) RefOf(nodeName string) types.ManagedObjectReference { return c.vm(nodeName).Self }

// PoolOf returns the resource pool of a machine.
func (c *Cloud) PoolOf(nodeName string) types.ManagedObjectReference {
	return *c.vm(nodeName).ResourcePool
}

// FolderOf returns the folder of a machine.
func (c *Cloud) FolderOf(nodeName string) types.ManagedObjectReference { return *c.vm(nodeName).Parent }

func (c *Cloud) vm(nodeName string) *simulator.VirtualMachine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machines[nodeName].vm
}

// Root returns the root folder, which contains the datacenter.
func (c *Cloud) Root() types.ManagedObjectReference {
	return c.model.Map().Get(c.Datacenter()).(*simulator.Datacenter).Parent.Reference()
}

// MoveToVApp moves a machine from its folder into a new vApp of its resource pool, and returns the vApp.
func (c *Cloud) MoveToVApp(nodeName string) types.ManagedObjectReference {
	c.inventory.Lock()
	defer c.inventory.Unlock()
	vm, registry, ctx := c.vm(nodeName), c.model.Map(), c.model.Service.Context
	pool := registry.Get(*vm.ResourcePool).(mo.Entity)
	app := &simulator.VirtualApp{}
	app.Name = nodeName + "-app"
	registry.PutEntity(pool, app)
	registry.WithLock(ctx, *vm.ResourcePool, func() {
		list := &pool.(*simulator.ResourcePool).ResourcePool.ResourcePool
		*list = append(*list, app.Self)
	})
	c.removeFromFolder(vm)
	registry.WithLock(ctx, vm.Self, func() {
		vm.Parent, vm.ParentVApp, vm.ResourcePool = nil, &app.Self, &app.Self
	})
	app.Vm = append(app.Vm, vm.Self)
	return app.Self
}
