// Package api declares every call that the provider makes to OpenStack. Requests and responses use
// gophercloud's packages; file types.go has what they cannot express. New returns all services over a Caller,
// which has the endpoints and tokens.
//
// Lists return all pages. Errors carry a class of package cloudapi.
package api

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
)

// ComputeAPI has the calls to Nova.
type ComputeAPI interface {
	// ListServers returns the servers of the project, or only those with a name that matches the regular expression.
	ListServers(ctx context.Context, name string) ([]Server, error)
	GetServer(ctx context.Context, id string) (Server, error)
	// ListFlavors returns the flavors that are visible to the project; GetFlavor also returns others that its
	// servers use.
	ListFlavors(ctx context.Context) ([]Flavor, error)
	GetFlavor(ctx context.Context, id string) (Flavor, error)
}

// NetworkAPI has the calls to Neutron. Updates with a revision number are rejected with class Conflict
// (oserr.IsRevisionConflict) if the object has another revision.
type NetworkAPI interface {
	// ListExtensions returns the aliases of the extensions of this Neutron.
	ListExtensions(ctx context.Context) ([]string, error)

	// Networks are only read. ListNetworks returns the networks with the IDs, ListExternalNetworks the networks with
	// floating IPs, and ListSubnets the subnets of a network, or all for "".
	ListNetworks(ctx context.Context, ids []string) ([]NeutronNetwork, error)
	ListExternalNetworks(ctx context.Context) ([]NeutronNetwork, error)
	ListSubnets(ctx context.Context, networkID string) ([]Subnet, error)
	GetSubnet(ctx context.Context, id string) (Subnet, error)

	// ListPorts returns ports of nodes, routers and load balancers; without a filter all of the project.
	ListPorts(ctx context.Context, f PortFilter) ([]Port, error)
	GetPort(ctx context.Context, id string) (Port, error)
	UpdatePort(ctx context.Context, id string, o PortUpdate) (Port, error)
	DeletePort(ctx context.Context, id string) error

	// ListFloatingIPs returns the floating IPs of a port, or of the project for "".
	ListFloatingIPs(ctx context.Context, portID string) ([]FloatingIP, error)
	CreateFloatingIP(ctx context.Context, o floatingips.CreateOpts) (FloatingIP, error)
	UpdateFloatingIP(ctx context.Context, id string, o floatingips.UpdateOpts) (FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error

	// ListSecurityGroups returns the security groups with a name, or all for "". Groups include their rules.
	ListSecurityGroups(ctx context.Context, name string) ([]SecurityGroup, error)
	CreateSecurityGroup(ctx context.Context, o groups.CreateOpts) (SecurityGroup, error)
	DeleteSecurityGroup(ctx context.Context, id string) error
	// CreateSecurityGroupRules creates all rules or none; an existing rule is AlreadyExists.
	CreateSecurityGroupRules(ctx context.Context, o []rules.CreateOpts) ([]SecurityGroupRule, error)
	DeleteSecurityGroupRule(ctx context.Context, id string) error

	// The kind of a tagged object is the plural in paths: FloatingIPs, Routers. SetTags returns the resulting tags of
	// the object; AddTag has no effect if the object has the tag.
	SetTags(ctx context.Context, kind, id string, tags []string) ([]string, error)
	AddTag(ctx context.Context, kind, id, tag string) error
	RemoveTag(ctx context.Context, kind, id, tag string) error

	// AddRoutes ignores existing routes, RemoveRoutes missing ones.
	GetRouter(ctx context.Context, id string) (Router, error)
	SetRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error)
	AddRoutes(ctx context.Context, id string, routes []ExtraRoute) (Router, error)
	RemoveRoutes(ctx context.Context, id string, routes []ExtraRoute) (Router, error)
}

// LoadBalancingAPI has the calls to Octavia. While a load balancer or anything in it is PENDING, every change
// is rejected with class Conflict (oserr.IsImmutable).
type LoadBalancingAPI interface {
	// ListVersions returns the versions of the API, oldest first, such as v2.26.
	ListVersions(ctx context.Context) ([]string, error)

	// ListLoadBalancers returns the load balancers of the project.
	ListLoadBalancers(ctx context.Context) ([]LoadBalancer, error)
	GetLoadBalancer(ctx context.Context, id string) (LoadBalancer, error)
	// CreateLoadBalancer creates a load balancer with everything in it.
	CreateLoadBalancer(ctx context.Context, o loadbalancers.CreateOpts) (LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, o loadbalancers.UpdateOpts) (LoadBalancer, error)
	// DeleteLoadBalancer deletes it, with everything in it if cascade is set.
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	// FailoverLoadBalancer builds the load balancer again, with its address. By default only administrators may.
	FailoverLoadBalancer(ctx context.Context, id string) error

	// GetLoadBalancerFlavor returns a size of load balancers, and ListLoadBalancerZones the zones of load balancers.
	GetLoadBalancerFlavor(ctx context.Context, id string) (LoadBalancerFlavor, error)
	ListLoadBalancerZones(ctx context.Context) ([]LoadBalancerZone, error)

	// ListListeners and ListPools return the objects of a load balancer, or of the project for "".
	ListListeners(ctx context.Context, loadBalancerID string) ([]Listener, error)
	CreateListener(ctx context.Context, o listeners.CreateOpts) (Listener, error)
	UpdateListener(ctx context.Context, id string, o listeners.UpdateOpts) (Listener, error)
	DeleteListener(ctx context.Context, id string) error

	ListPools(ctx context.Context, loadBalancerID string) ([]Pool, error)
	CreatePool(ctx context.Context, o pools.CreateOpts) (Pool, error)
	UpdatePool(ctx context.Context, id string, o pools.UpdateOpts) (Pool, error)
	DeletePool(ctx context.Context, id string) error

	ListMembers(ctx context.Context, poolID string) ([]Member, error)
	// SetMembers replaces the members of a pool. Settings of existing members that are not given are reset.
	SetMembers(ctx context.Context, poolID string, members []Member) error
	CreateMember(ctx context.Context, poolID string, m Member) (Member, error)
	DeleteMember(ctx context.Context, poolID, id string) error

	// ListHealthMonitors returns the health monitors of the project.
	ListHealthMonitors(ctx context.Context) ([]HealthMonitor, error)
	GetHealthMonitor(ctx context.Context, id string) (HealthMonitor, error)
	CreateHealthMonitor(ctx context.Context, o monitors.CreateOpts) (HealthMonitor, error)
	UpdateHealthMonitor(ctx context.Context, id string, o monitors.UpdateOpts) (HealthMonitor, error)
	DeleteHealthMonitor(ctx context.Context, id string) error
}

// KeyManagerAPI has the calls to Barbican, which check whether certificates exist. The provider never reads
// them.
type KeyManagerAPI interface {
	CheckSecret(ctx context.Context, id string) error
	CheckContainer(ctx context.Context, id string) error
}

var (
	_ ComputeAPI       = (*Clients)(nil)
	_ NetworkAPI       = (*Clients)(nil)
	_ LoadBalancingAPI = (*Clients)(nil)
	_ KeyManagerAPI    = (*Clients)(nil)
)

// New returns all services over a Caller.
func New(c Caller) *Clients { return &Clients{caller: c} }
