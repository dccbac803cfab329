package assign

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// HasInstance reports whether any of the clouds has the instance of a Node. False means that all of them were asked
// and have said no. An error means that one has not answered, whatever the others have said.
func (n *Nodes) HasInstance(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	names, err := havingInstance(ctx, node, n.clouds, provider.InstanceFinder.HasInstance)
	return len(names) > 0, err
}
