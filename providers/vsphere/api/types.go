package api

import (
	"cmp"
	"strings"
)

// Ref is the reference of an object in the inventory of one vCenter: its type, such as VirtualMachine, and its
// identifier, such as vm-42.
type Ref struct{ Type, Value string }

// The types of objects.
const (
	TypeMachine    = "VirtualMachine"
	TypeDatacenter = "Datacenter"
	TypeFolder     = "Folder"
)

// Machine is a virtual machine.
type Machine struct {
	Ref  Ref
	Name string
	// UUID is the BIOS UUID, "" while the machine is being created.
	UUID     string
	Template bool
	// Parent is the folder, or ParentVApp the vApp that contains the machine instead. Host is the host that it
	// runs on, Pool its resource pool. Each may be empty.
	Parent, ParentVApp, Host, Pool Ref
	PowerState, ConnectionState    string
	CPUs, MemoryMB                 int
	GuestID                        string
	// HostName and NICs are reported by VMware Tools.
	HostName string
	NICs     []NIC
	// Metadata is guestinfo.metadata, in the encoding MetadataEncoding.
	Metadata, MetadataEncoding string
}

// The power states. A suspended machine counts as stopped.
const (
	PoweredOn  = "poweredOn"
	PoweredOff = "poweredOff"
	Suspended  = "suspended"
)

// NIC is a network interface of the guest.
type NIC struct {
	// Network is the name of the port group.
	Network   string
	Addresses []string
	// Device is the ID of the virtual device; NoDevice for an interface that the guest has created.
	Device int
}

// NoDevice is NIC.Device of a bridge or another interface without virtual hardware.
const NoDevice = -1

// Entity is an object that contains others: a folder, datacenter, cluster, host or resource pool.
type Entity struct {
	Ref    Ref
	Name   string
	Parent Ref
}

// Inventory is the result of one property collection.
type Inventory struct {
	// VCenter is the instance UUID of the vCenter.
	VCenter  string
	Machines []Machine
	Entities map[Ref]Entity
}

// Chain returns an object and its ancestors, from the object to the root folder. Objects that the account cannot see
// end it.
func (i Inventory) Chain(from Ref) []Ref {
	var chain []Ref
	for ref := from; ref != (Ref{}) && len(chain) <= len(i.Entities); ref = i.Entities[ref].Parent {
		chain = append(chain, ref)
	}
	return chain
}

// Tag is a tag.
type Tag struct{ ID, Name, CategoryID string }

// Category is a category of tags.
type Category struct{ ID, Name string }

// Compare orders references by type and identifier.
func (r Ref) Compare(other Ref) int {
	return cmp.Or(strings.Compare(r.Type, other.Type), strings.Compare(r.Value, other.Value))
}
