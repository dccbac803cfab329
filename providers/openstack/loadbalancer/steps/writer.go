// Package steps has the calls that the steps of plans make, and the steps that need nothing else of their plan: those
// of security groups, and some of floating IPs.
package steps

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Writer makes the calls of the steps of one Service, and records them in the snapshot. A change in a load balancer
// returns when that is ACTIVE again. Load balancers and their parts are named by their IDs.
type Writer interface {
	LoadBalancerWriter
	PartWriter
	NetworkWriter
}

// LoadBalancerWriter changes load balancers as a whole.
type LoadBalancerWriter interface {
	// CheckCreationBackoff returns an error while a load balancer in the state ERROR must stay.
	CheckCreationBackoff(have api.LoadBalancer, want model.Desired) error
	// CheckPlace returns why Octavia would refuse the place of a load balancer that replaces another one.
	CheckPlace(ctx context.Context, place model.LoadBalancer, have api.LoadBalancer) (model.PlaceProblem, error)
	// CheckContainer returns an error if a certificate cannot be read.
	CheckContainer(ctx context.Context, ref string) error
	// Reserve keeps floating IPs and ports that are free until the Service has another load balancer from other Services.
	Reserve(ids ...string)
	// ReserveReplaced does so with a load balancer that is being deleted: its place, its port and its floating IPs.
	ReserveReplaced(lb api.LoadBalancer)
	// CheckFloatingIP returns an error if no floating IP can be allocated.
	CheckFloatingIP(ctx context.Context, want model.FloatingIP) error
	// SecondSubnet returns a subnet of the other family in the network of the first; "" if there is none.
	SecondSubnet(ctx context.Context, place model.LoadBalancer, family v1.IPFamily) (string, error)
	CreateLoadBalancer(ctx context.Context, spec loadbalancers.CreateOpts) (api.LoadBalancer, error)
	AwaitCreation(ctx context.Context, id string, want model.Desired) error
	AwaitLoadBalancer(ctx context.Context, id string) error
	// UpdateLoadBalancer sets the tags that retag returns for those at that time, unless it is nil.
	UpdateLoadBalancer(ctx context.Context, have api.LoadBalancer, patch loadbalancers.UpdateOpts,
		retag func([]string) []string) error
	// Leave removes a Service's tag, or deletes the load balancer if no other Service uses it.
	Leave(ctx context.Context, have api.LoadBalancer, o LeaveOptions) error
	Failover(ctx context.Context, id string) error
	// DeleteLoadBalancer deletes a load balancer unless check, if that is not nil, returns an error about it at that time.
	DeleteLoadBalancer(ctx context.Context, have api.LoadBalancer, listeners []api.Listener, pools []observe.Pool,
		check func(api.LoadBalancer) error) error
}

// LeaveOptions determine what happens to a load balancer that a Service stops using.
type LeaveOptions struct {
	// IsLast reports whether the Service is the last one that uses the load balancer.
	IsLast func(api.LoadBalancer) bool
	// Release releases the floating IPs of a load balancer before its deletion.
	Release func(context.Context, api.LoadBalancer) error
	// Retag returns the tags without those of the Service.
	Retag func([]string) []string
}

// PartWriter changes the parts of load balancers.
type PartWriter interface {
	CreateListener(ctx context.Context, spec listeners.CreateOpts) error
	UpdateListener(ctx context.Context, lb, id string, patch listeners.UpdateOpts) error
	DeleteListener(ctx context.Context, lb, id string) error
	// CreatePool returns the ID.
	CreatePool(ctx context.Context, spec pools.CreateOpts) (string, error)
	UpdatePool(ctx context.Context, lb, id string, patch pools.UpdateOpts) error
	DeletePool(ctx context.Context, lb string, have observe.Pool) error
	SetMembers(ctx context.Context, lb, pool string, have, want []api.Member) error
	CreateMonitor(ctx context.Context, lb string, spec monitors.CreateOpts) error
	UpdateMonitor(ctx context.Context, lb, id string, patch monitors.UpdateOpts) error
	DeleteMonitor(ctx context.Context, lb, pool, id string) error
}

// NetworkWriter changes floating IPs, security groups and ports.
type NetworkWriter interface {
	// VIPPort returns the port of a load balancer's address; "" for an IPv6 address.
	VIPPort(id string) (string, error)
	// AllocateFloatingIP attaches the new floating IP to a port unless that is "".
	AllocateFloatingIP(ctx context.Context, want model.FloatingIP, port string) (api.FloatingIP, error)
	// ReadFloatingIPs reads what is attached to which port.
	ReadFloatingIPs(ctx context.Context) error
	// CheckFloatingIPFree returns an error if a floating IP is attached to neither the port nor where it was.
	CheckFloatingIPFree(ctx context.Context, f api.FloatingIP, port string) error
	// AttachFloatingIP attaches a floating IP to a port, in place of those that are attached if Neutron allows only one.
	// A refusal leaves them attached.
	AttachFloatingIP(ctx context.Context, id, port string, attached []api.FloatingIP) (api.FloatingIP, error)
	// DetachFloatingIP and DeleteFloatingIP have no effect on one that is attached elsewhere than it was.
	DetachFloatingIP(ctx context.Context, f api.FloatingIP) error
	TagFloatingIP(ctx context.Context, f api.FloatingIP, want []string) error
	HasFloatingIP(id string) bool
	DeleteFloatingIP(ctx context.Context, f api.FloatingIP) error
	CreateGroup(ctx context.Context, spec groups.CreateOpts) (api.SecurityGroup, error)
	AddRules(ctx context.Context, group api.SecurityGroup, missing []rules.CreateOpts) error
	DeleteRule(ctx context.Context, group, id string) error
	DeleteGroup(ctx context.Context, id string) error
	// ChangeGroups sets the security groups that change returns for those of a port at that time.
	ChangeGroups(ctx context.Context, port api.Port, change func([]string) []string) error
	RemovePortTags(ctx context.Context, port api.Port, tags []string) error
}
