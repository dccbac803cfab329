package api

import "context"

// API declares every call of this provider. Lists return all pages; errors carry a class of package cloudapi.
type API interface {
	InstanceAPI
	LoadBalancerAPI
	RouteAPI
	ZoneAPI
}

// InstanceAPI reads instances. It launches instances only to adopt nodes that run outside of the cloud, and
// never stops any.
type InstanceAPI interface {
	// ListInstances returns all instances.
	ListInstances(ctx context.Context) ([]Instance, error)
	// GetInstances and FindInstances return the existing instances of these IDs or names.
	GetInstances(ctx context.Context, ids []string) ([]Instance, error)
	FindInstances(ctx context.Context, names []string) ([]Instance, error)
	// LaunchInstances is only called with adopt-unknown-nodes. For an existing instance it returns that
	// instance.
	LaunchInstances(ctx context.Context, specs []InstanceSpec) ([]Instance, error)
}

// LoadBalancerAPI manages load balancers and their public addresses.
type LoadBalancerAPI interface {
	// ListLoadBalancers returns the load balancers of a cluster (all clusters' if empty) and name (all if
	// empty).
	ListLoadBalancers(ctx context.Context, cluster, name string) ([]LoadBalancer, error)
	CreateLoadBalancer(ctx context.Context, spec LoadBalancerSpec) (LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, patch LoadBalancerPatch) (LoadBalancer, error)
	DeleteLoadBalancer(ctx context.Context, id string) error

	CreatePool(ctx context.Context, loadBalancerID string, pool Pool) (Pool, error)
	UpdatePool(ctx context.Context, loadBalancerID, name string, patch PoolPatch) (Pool, error)
	DeletePool(ctx context.Context, loadBalancerID, name string) error
	SetMembers(ctx context.Context, loadBalancerID, pool string, members []Member) (Pool, error)

	CreateListener(ctx context.Context, loadBalancerID string, listener Listener) (Listener, error)
	UpdateListener(ctx context.Context, loadBalancerID, name string, patch ListenerPatch) (Listener, error)
	DeleteListener(ctx context.Context, loadBalancerID, name string) error

	// ListAddresses returns the addresses of a cluster (all clusters' if empty) with a name prefix.
	ListAddresses(ctx context.Context, cluster, prefix string) ([]Address, error)
	AllocateAddress(ctx context.Context, spec AddressSpec) (Address, error)
	ReleaseAddress(ctx context.Context, id string) error
}

// RouteAPI manages the region's route table. One call accepts at most RouteBatch routes and returns one
// result for each.
type RouteAPI interface {
	// ListRoutes returns the routes of all clusters, and those that users created.
	ListRoutes(ctx context.Context) ([]Route, error)
	CreateRoutes(ctx context.Context, routes []Route) ([]RouteResult, error)
	DeleteRoutes(ctx context.Context, routes []Route) ([]RouteResult, error)
}

// ZoneAPI reads the zones.
type ZoneAPI interface {
	ListZones(ctx context.Context) ([]Zone, error)
}
