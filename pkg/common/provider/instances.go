package provider

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
)

// InstanceFinder is implemented by providers that may be one of several clouds.
type InstanceFinder interface {
	// HasInstance reports whether the cloud has the instance of a Node without a provider ID. False is the answer to a
	// read that started after the call. A provider that has not started returns an error.
	HasInstance(ctx context.Context, node *v1.Node) (bool, error)
	// HasJoiningInstance is HasInstance for a Node that only this cloud may have. Nodes that join at the same time share
	// its reads with their initialization. False means "not yet", and is no reason to delete the Node.
	HasJoiningInstance(ctx context.Context, node *v1.Node) (bool, error)
	// MissingPeers returns the names of Ready Nodes whose instances the cloud does not find, by reads that started at
	// since or later: none if it finds one of them. A cloud that finds none answers for another project, region or
	// account, and HasInstance says nothing then.
	MissingPeers(ctx context.Context, since time.Time) ([]string, error)
}

// InstanceReader is implemented by InstancesV2 that answer from a snapshot.
type InstanceReader interface {
	// ReadInstanceExists is InstanceExists, but both of its answers are those of a read that started after the call.
	ReadInstanceExists(ctx context.Context, node *v1.Node) (bool, error)
	// JoiningInstanceExists is InstanceExists by the reads that answer InstanceMetadata for a Node that is being
	// initialized. False may be the answer of a list, and is no reason to delete the Node.
	JoiningInstanceExists(ctx context.Context, node *v1.Node) (bool, error)
}
