package controllers

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// observedCloud records the results of the controllers' calls of a provider.
type observedCloud struct {
	cloudprovider.Interface
	*Manager
}

func (c observedCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	balancer, ok := c.Interface.LoadBalancer()
	return observedBalancer{balancer, c.Manager}, ok
}

func (c observedCloud) Routes() (cloudprovider.Routes, bool) {
	routes, ok := c.Interface.Routes()
	return observedRoutes{routes, c.results}, ok
}

func (c observedCloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	instances, ok := c.Interface.InstancesV2()
	return observedInstances{instances, c.results}, ok
}

// observedBalancer also cancels calls when the manager ends: the framework updates members with a context
// that never ends.
type observedBalancer struct {
	cloudprovider.LoadBalancer
	*Manager
}

func (b observedBalancer) EnsureLoadBalancer(
	ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	status, err := b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, svc, nodes)
	return status, b.results.add("Service "+svc.Name, err)
}

func (b observedBalancer) UpdateLoadBalancer(
	ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node,
) error {
	ctx, end := b.Call(ctx)
	defer end()
	return b.results.add("Service "+svc.Name, b.LoadBalancer.UpdateLoadBalancer(ctx, cluster, svc, nodes))
}

func (b observedBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, svc *v1.Service) error {
	return b.results.add("Service "+svc.Name, b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, svc))
}

type observedInstances struct {
	cloudprovider.InstancesV2
	results *results
}

func (i observedInstances) InstanceMetadata(
	ctx context.Context, node *v1.Node,
) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := i.InstancesV2.InstanceMetadata(ctx, node)
	return metadata, i.results.add("metadata of node "+node.Name, err)
}

func (i observedInstances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := i.InstancesV2.InstanceExists(ctx, node)
	return exists, i.results.add("existence of node "+node.Name, err)
}

func (i observedInstances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	shutdown, err := i.InstancesV2.InstanceShutdown(ctx, node)
	return shutdown, i.results.add("power state of node "+node.Name, err)
}

type observedRoutes struct {
	cloudprovider.Routes
	results *results
}

func (r observedRoutes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	routes, err := r.Routes.ListRoutes(ctx, cluster)
	return routes, r.results.add("list of routes", err)
}

func (r observedRoutes) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	return r.results.add("route to "+route.DestinationCIDR, r.Routes.CreateRoute(ctx, cluster, hint, route))
}

func (r observedRoutes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	return r.results.add("route to "+route.DestinationCIDR, r.Routes.DeleteRoute(ctx, cluster, route))
}
