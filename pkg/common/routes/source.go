// Package routes implements cloudprovider.Routes for every cloud, over the narrow interface Source. It
// batches concurrent calls, and never changes foreign routes.
package routes

import (
	"context"
	"time"
)

// Route is a pod route in a cloud.
type Route struct {
	// Name is the cloud's name for the route, unique in the cluster.
	Name string
	// Destination is the pod CIDR in canonical form.
	Destination string
	// InstanceID is the target. It is empty if the target is deleted.
	InstanceID string
	// NodeName is the node of the target, if the Source knows it. A Source of routes to addresses finds it with a
	// NodeIndex; for routes to instances, Routes does.
	NodeName string
	// Blackhole is set if the target is deleted, so that traffic is dropped.
	Blackhole bool
	// Incomplete is set if only some of the cluster's route tables have the route. If its node has the
	// destination, Create completes it.
	Incomplete bool
	// Owned is set if the route belongs to the cluster, by our marks or those of earlier managers.
	Owned bool
	// Marked is set if the cloud stores the UID of the cluster with the route.
	Marked bool
	// Created is the cloud's creation date; zero if the cloud has none.
	Created time.Time
}

// Source reads and changes the routes of a cloud.
type Source interface {
	// List returns all routes in the cluster's tables, foreign ones included.
	List(ctx context.Context, clusterName string) ([]Route, error)
	// Create creates routes in as few calls as the cloud allows. It succeeds if a route exists with the same
	// target. It gets no destination of a listed foreign route, unless Options.RejectsForeign is set. The result has
	// one entry per route, nil for success.
	Create(ctx context.Context, clusterName string, routes []Route) []error
	// Delete deletes routes that exist. The result has one entry per route, nil for success.
	Delete(ctx context.Context, clusterName string, routes []Route) []error
}

// NodeTargets resolves nodes and instances; package instances implements it.
type NodeTargets interface {
	InstanceIDForNode(ctx context.Context, nodeName string) (string, error)
	// NodeNames returns the names of the nodes of each instance: usually one, but nothing prevents several Nodes with
	// the same provider ID. One that does not exist is absent from the result, and one that cannot be read is not. An
	// error says nothing about any of them.
	NodeNames(ctx context.Context, instanceIDs []string) (map[string][]string, error)
}
