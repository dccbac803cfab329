// Package api is every call that the provider may make to OpenStack: one page answers what it can
// touch. The types have what the provider reads and writes, and no more. New returns all of it over
// a Caller, which knows how to reach the services.
//
// Lists return all pages. Errors carry a class of package cloudapi.
package api

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Services, by their types in Keystone's catalogue. They name the service in metrics, too.
const (
	Identity      = "identity"
	Compute       = "compute"
	Network       = "network"
	LoadBalancing = "load-balancer"
	KeyManager    = "key-manager"
)

// Caller makes a call: it finds the service, sends what call sends with a valid token, again where
// that is safe and may help, each time within a deadline, and classifies the error.
type Caller interface {
	Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error
}

// ComputeAPI is what the provider asks of Nova.
type ComputeAPI interface {
	// ListServers returns the project's servers, or those whose names match the regular expression.
	ListServers(ctx context.Context, name string) ([]Server, error)
	GetServer(ctx context.Context, id string) (Server, error)
	// ListFlavors returns the flavors that the project may use; GetFlavor also another that it uses.
	ListFlavors(ctx context.Context) ([]Flavor, error)
	GetFlavor(ctx context.Context, id string) (Flavor, error)
}

// NetworkAPI is what the provider asks of Neutron. Updates with a revision other than 0 are refused
// with class Conflict (oserr.Changed) if the object has another revision by now.
type NetworkAPI interface {
	// ListExtensions returns the aliases of what this Neutron can do.
	ListExtensions(ctx context.Context) ([]string, error)

	// Networks, which are only read.
	ListNetworks(ctx context.Context, f NetworkFilter) ([]NeutronNetwork, error)
	ListSubnets(ctx context.Context, f SubnetFilter) ([]Subnet, error)
	GetSubnet(ctx context.Context, id string) (Subnet, error)

	// Ports of nodes, routers and load balancers.
	ListPorts(ctx context.Context, f PortFilter) ([]Port, error)
	GetPort(ctx context.Context, id string) (Port, error)
	UpdatePort(ctx context.Context, id string, revision int, p PortPatch) (Port, error)
	DeletePort(ctx context.Context, id string) error

	// Public addresses.
	ListFloatingIPs(ctx context.Context, f FloatingIPFilter) ([]FloatingIP, error)
	CreateFloatingIP(ctx context.Context, s FloatingIPSpec) (FloatingIP, error)
	UpdateFloatingIP(ctx context.Context, id string, p FloatingIPPatch) (FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error

	// Security groups that open node ports. Rules come with their groups.
	ListSecurityGroups(ctx context.Context, f SecurityGroupFilter) ([]SecurityGroup, error)
	CreateSecurityGroup(ctx context.Context, s SecurityGroupSpec) (SecurityGroup, error)
	DeleteSecurityGroup(ctx context.Context, id string) error
	// CreateSecurityGroupRules makes all rules or none; one that exists is AlreadyExists.
	CreateSecurityGroupRules(ctx context.Context, rules []SecurityGroupRuleSpec) ([]SecurityGroupRule, error)
	DeleteSecurityGroupRule(ctx context.Context, id string) error

	// Tags. kind is the plural in paths: Ports, FloatingIPs, SecurityGroups, Routers.
	SetTags(ctx context.Context, kind, id string, tags []string) ([]string, error)
	AddTag(ctx context.Context, kind, id, tag string) error
	RemoveTag(ctx context.Context, kind, id, tag string) error

	// Pod routes.
	GetRouter(ctx context.Context, id string) (Router, error)
	SetRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error)
	AddRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error)
	RemoveRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error)
}

// LoadBalancingAPI is what the provider asks of Octavia. While a load balancer or anything in it is
// PENDING, every change is refused with class Conflict (oserr.Immutable).
type LoadBalancingAPI interface {
	// ListVersions returns the versions of the API, oldest first, such as v2.26.
	ListVersions(ctx context.Context) ([]string, error)

	ListLoadBalancers(ctx context.Context, f LoadBalancerFilter) ([]LoadBalancer, error)
	GetLoadBalancer(ctx context.Context, id string) (LoadBalancer, error)
	// CreateLoadBalancer makes a load balancer with everything in it.
	CreateLoadBalancer(ctx context.Context, s LoadBalancerSpec) (CreatedLoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, p LoadBalancerPatch) (LoadBalancer, error)
	// DeleteLoadBalancer deletes it, with everything in it if cascade is set.
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error

	// ListListeners and ListPools return those of one load balancer, or with "" all of the project.
	ListListeners(ctx context.Context, loadBalancerID string) ([]Listener, error)
	CreateListener(ctx context.Context, s ListenerSpec) (Listener, error)
	UpdateListener(ctx context.Context, id string, p ListenerPatch) (Listener, error)
	DeleteListener(ctx context.Context, id string) error

	ListPools(ctx context.Context, loadBalancerID string) ([]Pool, error)
	CreatePool(ctx context.Context, s PoolSpec) (Pool, error)
	UpdatePool(ctx context.Context, id string, p PoolPatch) (Pool, error)
	DeletePool(ctx context.Context, id string) error

	ListMembers(ctx context.Context, poolID string) ([]Member, error)
	// SetMembers makes these the pool's members. What is not said of a member that exists is reset.
	SetMembers(ctx context.Context, poolID string, members []MemberSpec) error
	CreateMember(ctx context.Context, poolID string, m MemberSpec) (Member, error)
	DeleteMember(ctx context.Context, poolID, id string) error

	// ListHealthMonitors returns those of the project.
	ListHealthMonitors(ctx context.Context) ([]HealthMonitor, error)
	GetHealthMonitor(ctx context.Context, id string) (HealthMonitor, error)
	CreateHealthMonitor(ctx context.Context, s HealthMonitorSpec) (HealthMonitor, error)
	UpdateHealthMonitor(ctx context.Context, id string, p HealthMonitorPatch) (HealthMonitor, error)
	DeleteHealthMonitor(ctx context.Context, id string) error
}

// KeyManagerAPI is what the provider asks of Barbican: whether certificates are there. It never reads them.
type KeyManagerAPI interface {
	GetSecret(ctx context.Context, id string) (Secret, error)
	GetContainer(ctx context.Context, id string) (Container, error)
}

// Clients make the calls.
type Clients struct {
	caller Caller
}

var (
	_ ComputeAPI       = (*Clients)(nil)
	_ NetworkAPI       = (*Clients)(nil)
	_ LoadBalancingAPI = (*Clients)(nil)
	_ KeyManagerAPI    = (*Clients)(nil)
)

// New returns all services over a Caller.
func New(c Caller) *Clients { return &Clients{caller: c} }
