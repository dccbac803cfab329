package fake

import (
	"context"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer"
)

// API is every call that this provider may make. What is not on this page is not done. Lists
// return all pages; errors carry a class of package cloudapi.
type API interface {
	InstanceAPI
	LoadBalancerAPI
	RouteAPI
	PlaceAPI
}

// InstanceAPI reads machines. It starts some only to adopt nodes that run elsewhere, and stops none.
type InstanceAPI interface {
	// ListInstances returns all instances.
	ListInstances(ctx context.Context) ([]api.Instance, error)
	// GetInstances and FindInstances return those of these IDs or names that exist.
	GetInstances(ctx context.Context, ids []string) ([]api.Instance, error)
	FindInstances(ctx context.Context, names []string) ([]api.Instance, error)
	// LaunchInstances is only called with adopt-unknown-nodes. It answers one that exists with that one.
	LaunchInstances(ctx context.Context, specs []api.InstanceSpec) ([]api.Instance, error)
	// AddSSHKey serves the framework's Instances interface.
	AddSSHKey(ctx context.Context, key api.SSHKey) error
}

// LoadBalancerAPI manages load balancers and their public addresses.
type LoadBalancerAPI interface {
	// ListLoadBalancers returns those of a cluster (all clusters' if empty) and name (all if empty).
	ListLoadBalancers(ctx context.Context, cluster, name string) ([]api.LoadBalancer, error)
	CreateLoadBalancer(ctx context.Context, spec api.LoadBalancerSpec) (api.LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, patch api.LoadBalancerPatch) (api.LoadBalancer, error)
	DeleteLoadBalancer(ctx context.Context, id string) error

	CreatePool(ctx context.Context, loadBalancerID string, pool api.Pool) (api.Pool, error)
	UpdatePool(ctx context.Context, loadBalancerID, name string, patch api.PoolPatch) (api.Pool, error)
	DeletePool(ctx context.Context, loadBalancerID, name string) error
	SetMembers(ctx context.Context, loadBalancerID, pool string, members []api.Member) (api.Pool, error)

	CreateListener(ctx context.Context, loadBalancerID string, listener api.Listener) (api.Listener, error)
	UpdateListener(ctx context.Context, loadBalancerID, name string, patch api.ListenerPatch) (api.Listener, error)
	DeleteListener(ctx context.Context, loadBalancerID, name string) error

	// ListAddresses returns those of a cluster (all clusters' if empty) whose names begin with prefix.
	ListAddresses(ctx context.Context, cluster, prefix string) ([]api.Address, error)
	AllocateAddress(ctx context.Context, spec api.AddressSpec) (api.Address, error)
	ReleaseAddress(ctx context.Context, id string) error
}

// RouteAPI manages the region's route table. One call takes at most api.RouteBatch routes and
// answers one result for each.
type RouteAPI interface {
	// ListRoutes returns the routes of all clusters, and those made by hand.
	ListRoutes(ctx context.Context) ([]api.Route, error)
	CreateRoutes(ctx context.Context, routes []api.Route) ([]api.RouteResult, error)
	DeleteRoutes(ctx context.Context, routes []api.Route) ([]api.RouteResult, error)
}

// PlaceAPI reads what is where.
type PlaceAPI interface {
	ListZones(ctx context.Context) ([]api.Zone, error)
	ListClusters(ctx context.Context) ([]api.Cluster, error)
}

// Package loadbalancer cannot import this one, so it names the calls that it needs itself. That
// they are those of this page, no more and no fewer, is what the compiler checks here.
var (
	_ loadbalancer.API = interface {
		LoadBalancerAPI
		ListZones(ctx context.Context) ([]api.Zone, error)
	}(nil)
	_ LoadBalancerAPI = loadbalancer.API(nil)
)

var _ API = (*client)(nil)
