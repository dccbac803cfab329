package provider

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// InstanceFinder is implemented by providers that may be one of several clouds.
type InstanceFinder interface {
	// HasInstance reports whether the cloud has the instance of a Node without a provider ID. False is the answer to a
	// read that started after the call. A provider that has not started returns an error.
	HasInstance(ctx context.Context, node *v1.Node) (bool, error)
}
