package client

import (
	"context"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var _ api.API = (*Client)(nil)

// The operations of the API, one method each, as providers/fake/api names them.

const (
	pathInstances     = "instances"
	pathAddresses     = "addresses"
	pathLoadBalancers = "load-balancers"
	pathPools         = "pools"
	pathMembers       = "members"
	pathListeners     = "listeners"
	pathRoutes        = "routes"
	pathZones         = "zones"
)

// ListInstances implements api.API.
func (c *Client) ListInstances(ctx context.Context) ([]api.Instance, error) {
	return list[api.Instance](ctx, c, "ListInstances", pathInstances, nil)
}

// GetInstances implements api.API.
func (c *Client) GetInstances(ctx context.Context, ids []string) ([]api.Instance, error) {
	return inChunks[api.Instance](ctx, c, "ids", ids)
}

// FindInstances implements api.API.
func (c *Client) FindInstances(ctx context.Context, names []string) ([]api.Instance, error) {
	return inChunks[api.Instance](ctx, c, "names", names)
}

// LaunchInstances implements api.API.
func (c *Client) LaunchInstances(ctx context.Context, specs []api.InstanceSpec) ([]api.Instance, error) {
	page, err := mutate[api.Page[api.Instance]](ctx, c, "LaunchInstances", http.MethodPost, specs, pathInstances)
	return page.Items, err
}

// ListAddresses implements api.API.
func (c *Client) ListAddresses(ctx context.Context, cluster, prefix string) ([]api.Address, error) {
	return list[api.Address](ctx, c, "ListAddresses", pathAddresses, queryOf("cluster", cluster, "prefix", prefix))
}

// AllocateAddress implements api.API.
func (c *Client) AllocateAddress(ctx context.Context, spec api.AddressSpec) (api.Address, error) {
	return mutate[api.Address](ctx, c, "AllocateAddress", http.MethodPost, spec, pathAddresses)
}

// ReleaseAddress implements api.API.
func (c *Client) ReleaseAddress(ctx context.Context, id string) error {
	return c.remove(ctx, "ReleaseAddress", pathAddresses, id)
}

// ListLoadBalancers implements api.API.
func (c *Client) ListLoadBalancers(ctx context.Context, cluster, name string) ([]api.LoadBalancer, error) {
	query := queryOf("cluster", cluster, "name", name)
	return list[api.LoadBalancer](ctx, c, "ListLoadBalancers", pathLoadBalancers, query)
}

// CreateLoadBalancer implements api.API.
func (c *Client) CreateLoadBalancer(ctx context.Context, spec api.LoadBalancerSpec) (api.LoadBalancer, error) {
	return mutate[api.LoadBalancer](ctx, c, "CreateLoadBalancer", http.MethodPost, spec, pathLoadBalancers)
}

// UpdateLoadBalancer implements api.API.
func (c *Client) UpdateLoadBalancer(ctx context.Context, id string,
	patch api.LoadBalancerPatch) (api.LoadBalancer, error) {
	return mutate[api.LoadBalancer](ctx, c, "UpdateLoadBalancer", http.MethodPatch, patch, pathLoadBalancers, id)
}

// DeleteLoadBalancer implements api.API.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string) error {
	return c.remove(ctx, "DeleteLoadBalancer", pathLoadBalancers, id)
}

// CreatePool implements api.API.
func (c *Client) CreatePool(ctx context.Context, loadBalancerID string, pool api.Pool) (api.Pool, error) {
	return mutate[api.Pool](ctx, c, "CreatePool", http.MethodPost, pool, pathLoadBalancers, loadBalancerID, pathPools)
}

// UpdatePool implements api.API.
func (c *Client) UpdatePool(ctx context.Context, loadBalancerID, name string, patch api.PoolPatch) (api.Pool, error) {
	return mutate[api.Pool](ctx, c, "UpdatePool", http.MethodPatch, patch, pathLoadBalancers, loadBalancerID, pathPools,
		name)
}

// DeletePool implements api.API.
func (c *Client) DeletePool(ctx context.Context, loadBalancerID, name string) error {
	return c.remove(ctx, "DeletePool", pathLoadBalancers, loadBalancerID, pathPools, name)
}

// SetMembers implements api.API.
func (c *Client) SetMembers(ctx context.Context, loadBalancerID, pool string, members []api.Member) (api.Pool, error) {
	return mutate[api.Pool](ctx, c, "SetMembers", http.MethodPut, members, pathLoadBalancers, loadBalancerID, pathPools,
		pool, pathMembers)
}

// CreateListener implements api.API.
func (c *Client) CreateListener(ctx context.Context, loadBalancerID string,
	listener api.Listener) (api.Listener, error) {
	return mutate[api.Listener](ctx, c, "CreateListener", http.MethodPost, listener, pathLoadBalancers, loadBalancerID,
		pathListeners)
}

// UpdateListener implements api.API.
func (c *Client) UpdateListener(ctx context.Context, loadBalancerID, name string,
	patch api.ListenerPatch) (api.Listener, error) {
	return mutate[api.Listener](ctx, c, "UpdateListener", http.MethodPatch, patch, pathLoadBalancers, loadBalancerID,
		pathListeners, name)
}

// DeleteListener implements api.API.
func (c *Client) DeleteListener(ctx context.Context, loadBalancerID, name string) error {
	return c.remove(ctx, "DeleteListener", pathLoadBalancers, loadBalancerID, pathListeners, name)
}

// ListRoutes implements api.API.
func (c *Client) ListRoutes(ctx context.Context) ([]api.Route, error) {
	return list[api.Route](ctx, c, "ListRoutes", pathRoutes, nil)
}

// CreateRoutes implements api.API.
func (c *Client) CreateRoutes(ctx context.Context, routes []api.Route) ([]api.RouteResult, error) {
	page, err := mutate[api.Page[api.RouteResult]](ctx, c, "CreateRoutes", http.MethodPost, routes, pathRoutes)
	return page.Items, err
}

// DeleteRoutes implements api.API.
func (c *Client) DeleteRoutes(ctx context.Context, routes []api.Route) ([]api.RouteResult, error) {
	page, err := mutate[api.Page[api.RouteResult]](ctx, c, "DeleteRoutes", http.MethodPost, routes, pathRoutes, "delete")
	return page.Items, err
}

// ListZones implements api.API.
func (c *Client) ListZones(ctx context.Context) ([]api.Zone, error) {
	return list[api.Zone](ctx, c, "ListZones", pathZones, nil)
}
