// Package routes implements cloudprovider.Routes once for every cloud, over the narrow interface
// Source: calls that come together are batched, and routes that are not ours are never touched.
package routes

import "context"

// Route is one pod route as a cloud holds it.
type Route struct {
	// Name is the cloud's name for the route, unique in the cluster.
	Name string
	// Destination is the pod CIDR in canonical form.
	Destination string
	// InstanceID is the target. It is empty when the route has lost its target.
	InstanceID string
	// NodeName is the node that the target instance is, where known.
	NodeName string
	// Blackhole says that the target is gone and traffic is dropped.
	Blackhole bool
	// Incomplete says that only some of the cluster's tables have the route. If its node wants it,
	// Create completes it.
	Incomplete bool
	// Owned says that the route carries this cluster's mark (or the marks that today's manager leaves).
	Owned bool
}

// Source is what a cloud must fill.
type Source interface {
	// List returns all routes in the cluster's tables, foreign ones included.
	List(ctx context.Context, clusterName string) ([]Route, error)
	// Create adds routes in as few calls as the cloud allows. A route that already exists with
	// the same target is no error. The result has one entry per route, nil for success.
	Create(ctx context.Context, clusterName string, routes []Route) []error
	// Delete removes routes. One that is already gone is no error.
	Delete(ctx context.Context, clusterName string, routes []Route) []error
}

// NodeTargets finds the instance behind a node; package instances implements it.
type NodeTargets interface {
	InstanceIDForNode(ctx context.Context, nodeName string) (string, error)
}
