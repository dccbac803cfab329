// Package ec2 simulates EC2: instances, network interfaces, subnets, route tables, security groups and addresses.
package ec2

import (
	"net/netip"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// State has all objects by ID.
type State struct {
	VPCs       map[string]*VPC
	Subnets    map[string]*Subnet
	Tables     map[string]*RouteTable
	Groups     map[string]*SecurityGroup
	Instances  map[string]*Instance
	Interfaces map[string]*NetworkInterface
	Addresses  map[string]*elasticIP
	// Unhealthy are the nodes that fail health checks.
	Unhealthy map[string]bool
	// allocated counts allocated addresses, by subnet ID or pool.
	allocated map[string]int
	// launches are reservations by the client token of their request.
	launches map[string]string
	// launched counts instances.
	launched int
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{
		VPCs: map[string]*VPC{}, Subnets: map[string]*Subnet{}, Tables: map[string]*RouteTable{},
		Groups: map[string]*SecurityGroup{}, Instances: map[string]*Instance{},
		Interfaces: map[string]*NetworkInterface{}, Addresses: map[string]*elasticIP{},
		Unhealthy: map[string]bool{}, allocated: map[string]int{}, launches: map[string]string{},
	}
}

// Tx is one operation on the state.
type Tx struct {
	*core.Tx
	*State
	// DisruptedZones are the zones in which reads of instances fail.
	DisruptedZones []string
	// OnTerminate is called with the ID of an instance when it is terminated.
	OnTerminate func(id string)
	// byAddress are the network interfaces by each of their addresses, built on first use in the operation.
	byAddress map[netip.Addr]*NetworkInterface
}

// VPC is a virtual private cloud.
type VPC struct {
	ID         string
	CIDR       netip.Prefix
	CIDR6      netip.Prefix
	dhcp       string
	isDefault  bool
	GatewayID  string
	natGateway string
}

// Subnet is a subnet of a VPC.
type Subnet struct {
	ID, VPC, Zone string
	CIDR, CIDR6   netip.Prefix
	MapPublic     bool
	assign6       bool
}

// Instance is an instance, also a terminated one that is still visible.
type Instance struct {
	ID, Reservation, Image, Kind string
	// Order is the number of the launch.
	Order   int
	Subnet  string
	VPC     string
	Zone    string
	DNSName string
	// ENIs are its network interfaces by device index.
	ENIs []string
	// NodeName is the name of its node.
	NodeName string
	PodCIDRs []string
	// State is the last requested one; StateOf adds the effect of time.
	State        string
	Launched     time.Time
	terminated   time.Time
	checkTraffic bool
	// Profile is the name of the instance profile and of the role in it.
	Profile string
	key     string
}

// NetworkInterface is a network interface of an instance or of a load balancer.
type NetworkInterface struct {
	ID, Subnet, VPC, Zone string
	// Instance is empty for an interface of a load balancer, attachment for a detached one.
	Instance, attachment string
	Device               int
	attached             time.Time
	MAC, Description     string
	Kind, Requester      string
	Private              []netip.Addr
	IPv6                 []netip.Addr
	// PrimaryIPv6 makes the first IPv6 address the primary one, for as long as the interface is attached.
	PrimaryIPv6  bool
	Prefixes     []netip.Prefix
	publicIP     netip.Addr
	Groups       []string
	checkTraffic bool
	// ReleaseAt is when AWS removes the interface of a load balancer that was deleted.
	ReleaseAt time.Time
}

type elasticIP struct {
	ID          string
	IP          netip.Addr
	Association string
	Iface       string
}

// Advance deletes the objects that have expired by now.
func (t *Tx) Advance() {
	for id, i := range t.Instances {
		if i.State == StateTerminated && !t.Now.Before(i.terminated.Add(max(t.Options.TerminatedTime, 0))) {
			delete(t.Instances, id)
			t.RemoveRecords(id)
		}
	}
	for id, n := range t.Interfaces {
		if !n.ReleaseAt.IsZero() && !t.Now.Before(n.ReleaseAt) {
			delete(t.Interfaces, id)
			t.RemoveRecords(id)
		}
	}
}

// Operations returns the operations of EC2.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(instanceOperations(), networkOperations(), routeOperations(), securityGroupOperations(),
		interfaceOperations(), addressOperations(), tagOperations())
}
