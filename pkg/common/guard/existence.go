package guard

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// existsFunc answers whether the instance of a node exists.
type existsFunc func(context.Context, *v1.Node) (bool, error)

// freshExists returns the InstanceExists of a provider without its snapshot.
func freshExists(inner cloudprovider.InstancesV2) existsFunc {
	if reader, ok := inner.(provider.InstanceReader); ok {
		return reader.ReadInstanceExists
	}
	return inner.InstanceExists
}

// joiningExists returns the InstanceExists of a provider for nodes that are being initialized.
func joiningExists(inner cloudprovider.InstancesV2) existsFunc {
	if reader, ok := inner.(provider.InstanceReader); ok {
		return reader.JoiningInstanceExists
	}
	return inner.InstanceExists
}

// instanceExists asks a provider, as a call that is observed.
func (s *shared) instanceExists(ctx context.Context, exists existsFunc, node *v1.Node) (bool, error) {
	return observed(ctx, s.observe, "InstancesV2", "InstanceExists", func(ctx context.Context) (bool, error) {
		return exists(ctx, node)
	}, tracing.Node.String(node.Name))
}
