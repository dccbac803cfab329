// Package ec2 simulates EC2: instances, network interfaces, subnets, route tables, security groups and addresses.
package ec2

import (
	"net/netip"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// States of an instance.
const (
	statePending    = "pending"
	StateRunning    = "running"
	StateTerminated = "terminated"
	StateStopped    = "stopped"
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

// RouteTable is a route table of a VPC.
type RouteTable struct {
	id, VPC string
	// Main is set for the table of all subnets that no table names in Subnets.
	Main    bool
	Subnets []string
	Routes  []*Route
}

// Route leads to a gateway of any kind, or to a network interface.
type Route struct {
	Destination netip.Prefix
	Gateway     string
	nat         string
	Iface       string
	// Origin is CreateRouteTable for the routes that a table has from the start, and CreateRoute for others.
	Origin string
}

// SecurityGroup is a security group of a VPC.
type SecurityGroup struct {
	ID, Name, description, VPC string
	Ingress, Egress            []*Rule
}

// Rule is one rule of a security group: one source or destination. Exactly one of cidr4, cidr6, group and prefixList is
// set.
type Rule struct {
	id, protocol                    string
	from, to                        int32
	CIDR4, CIDR6, Group, prefixList string
	Description                     string
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

// groupName returns the name of a security group, empty if it was deleted.
func (t *Tx) groupName(id string) string {
	if g := t.Groups[id]; g != nil {
		return g.Name
	}
	return ""
}

// defaultVPC returns the VPC of groups that a request names without a VPC. The fixtures have none.
func (t *Tx) defaultVPC() string {
	for _, v := range t.VPCs {
		if v.isDefault {
			return v.ID
		}
	}
	return ""
}

// GroupByName returns the security group of a VPC with a name, nil if there is none.
func (t *Tx) GroupByName(name, vpc string) *SecurityGroup {
	for _, g := range t.Groups {
		if g.Name == name && g.VPC == vpc {
			return g
		}
	}
	return nil
}

// ruleByID finds a rule and its group.
func (t *Tx) ruleByID(id string) (*SecurityGroup, *Rule) {
	for _, g := range t.Groups {
		for _, r := range slices.Concat(g.Ingress, g.Egress) {
			if r.id == id {
				return g, r
			}
		}
	}
	return nil, nil
}
