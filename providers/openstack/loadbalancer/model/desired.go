// Package model has the desired state of a load balancer, and the features of Octavia.
package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Desired are the objects that should exist for one Service.
type Desired struct {
	// Name is the load balancer's, if it is created for this Service.
	Name string
	// Reference is the load balancer that the Service names.
	Reference string
	// Guests are the Services of other namespaces that may share the load balancer; nil if the Service does not set them.
	Guests       *string
	LoadBalancer LoadBalancer
	MemberSubnet MemberSubnet
	// Ports in the order of the Service.
	Ports []Port
	// Internal is set if the Service or the configuration requests a load balancer without a floating IP.
	Internal bool
	// FloatingIP is nil for an internal load balancer, and if there is no external network.
	FloatingIP *FloatingIP
	// Group is nil if security groups are not managed.
	Group *Group
	// Warnings are for the Service's author, Reasons the reasons of their Events if they have their own.
	Warnings []string
	Reasons  map[string]events.Reason

	Features  Features
	Families  []v1.IPFamily
	MaxShared int
	// Serial creates one object with each call.
	Serial bool
	// ProbedForLocal is set if neither Service nor configuration enables health monitors: they exist only
	// because of externalTrafficPolicy: Local.
	ProbedForLocal bool
	// MemberNote is the annotation with the checksums of the members: see observe.Checksums.
	MemberNote string
	// FailoverRefused is the annotation with the ID of the load balancer of which Octavia refused the failover.
	FailoverRefused string
	// Fields are the Service's: see intent.Service.Fields.
	Fields map[string]string
	// Sources are the fields and annotations that set the options, for problems found later.
	Sources intent.Sources

	// Kept are the differences from existing objects that stay: see lbcommon.Keeper.
	Kept []plan.Difference

	// input is that of Build. refusal has the problems of the Service with the provider, creation those that only refuse
	// a new load balancer.
	input             Input
	refusal, creation error
}

// LoadBalancer has the settings of a new load balancer.
type LoadBalancer struct {
	Description, Provider, FlavorID, Zone string
	SubnetID, NetworkID, PortID, Address  string
	Tags                                  []string
	// NamedSubnetID is the subnet that the Service, its class or the configuration names, if SubnetID is another one of
	// its network because of the Service's family. FamilySubnets are all of that family there.
	NamedSubnetID string
	FamilySubnets []string
	// Explicit are the fields above that the Service itself sets. Only they are a reason to replace an existing
	// load balancer: a key of the configuration is for new ones.
	Explicit Explicit
	// Source has the source of the others: the Service's class, or a key of the configuration.
	Source Source
	// inNodeSubnet is set if SubnetID is that of the nodes' addresses of the Service's family.
	inNodeSubnet bool
	// unplaced is set if the subnets of the project lack the one that is named, or one of the Service's family.
	unplaced bool
}

// MemberSubnet is the subnet from which members are reached. Source is the annotation or key that names it.
type MemberSubnet struct {
	ID, Source string
	// Explicit is set if the Service or its class names the subnet.
	Explicit bool
}

// Explicit are the settings of a load balancer that a Service itself names.
type Explicit struct{ Subnet, Network, Port, Address, Flavor, Zone bool }

// Source has the sources of settings that the Service itself does not name: its class or a key of the configuration. A
// field is empty for a setting of the Service.
type Source struct{ Subnet, Network, Flavor, Zone string }

// Port has the objects of one port of the Service: a listener with its pool, the pool's members and health
// monitor.
type Port struct {
	// Transport is TCP, UDP or SCTP.
	Transport string
	Number    int
	Listener  listeners.CreateOpts
	Pool      pools.CreateOpts
	Members   []api.Member
	// Unowned are the members for nodes of other clouds and regions, and nodes without a provider ID, if another
	// manager added them.
	Unowned []api.Member
	// Monitor is nil if members are not probed.
	Monitor *monitors.CreateOpts
	// KeepsMethod is set if the provider does not support the requested algorithm: an existing pool keeps its own.
	KeepsMethod bool
	// ListenerTags and PoolTags are those of the Service's annotations.
	ListenerTags, PoolTags []string
}

// FloatingIP is the public address of a load balancer.
type FloatingIP struct {
	// NetworkID is empty if it has to be looked up.
	NetworkID string
	// SubnetID overrides the pattern and the tags. All of them may be empty.
	SubnetID, SubnetPattern, SubnetTags string
	// Address is empty for any.
	Address     string
	Description string
	// Explicit has the annotations that select its source, with their values. NetworkExplicit reports that
	// NetworkID is one of them.
	Explicit        []string
	NetworkExplicit bool
}

// Group opens the node ports of a Service on the Neutron ports of nodes.
type Group struct {
	Name, Description string
	// Rules without the group's ID. RulesFrom adds those for the subnets from which members are reached.
	Rules []rules.CreateOpts
	// FromSubnets are the rules for one subnet, without their source.
	FromSubnets []rules.CreateOpts
	// Subnets are those from which new members are reached, by ID.
	Subnets []string
	// CIDRs are those of all subnets that can be read, by ID.
	CIDRs map[string]string
	// Ports are the node's ports that get the group, by ID.
	Ports []api.Port
	// Servers are those of all nodes that receive traffic.
	Servers []string
}

// HasUnowned reports whether nodes of other clouds and regions may be members.
func (d Desired) HasUnowned() bool {
	return slices.ContainsFunc(d.Ports, func(p Port) bool { return len(p.Unowned) > 0 })
}

// CreationDigest is a hash of everything that a creation sets except the members, which change with the
// nodes.
func (d Desired) CreationDigest() string {
	type port struct {
		Listener listeners.CreateOpts
		Pool     pools.CreateOpts
	}
	ports := make([]port, len(d.Ports))
	for i, p := range d.Ports {
		ports[i] = port{p.Listener, p.Pool}
	}
	content, err := json.Marshal([]any{d.LoadBalancer, ports, d.MemberSubnet.ID})
	if err != nil {
		return "" // plain values can always be encoded
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
