package bench

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func (r *runner) join(ctx context.Context) (time.Duration, error) {
	err := r.joinEach(ctx, r.Nodes, func(ctx context.Context, i int) error {
		return r.joinLabeled(ctx, r.cloudOf(i), lab.DemoMachine(i), i <= r.targets())
	})
	if err != nil {
		return 0, err
	}
	return 0, r.waitFor(ctx, r.nodesInitialized(r.Nodes))
}

// joinUnlabeled has further nodes join, of which only the clouds know whose they are.
func (r *runner) joinUnlabeled(ctx context.Context) (time.Duration, error) {
	n := lab.UnlabeledNodes * len(r.cluster.Clouds)
	r.extraNodes += n
	err := r.joinEach(ctx, n, func(ctx context.Context, i int) error {
		return r.joinNode(ctx, r.cloudOf(r.Nodes+i), lab.DemoMachine(r.Nodes+i), false)
	})
	if err != nil {
		return 0, err
	}
	return 0, r.waitFor(ctx, r.nodesInitialized(r.Nodes+r.extraNodes))
}

// joinEach calls join for the numbers from 1 to n, and registers neighbors meanwhile.
func (r *runner) joinEach(ctx context.Context, n int, join func(ctx context.Context, i int) error) error {
	return each(ctx, n*(1+r.Neighbors), func(ctx context.Context, i int) error {
		if (i-1)%(1+r.Neighbors) == 0 {
			return join(ctx, 1+(i-1)/(1+r.Neighbors))
		}
		neighbor := world.Machine{Name: fmt.Sprintf("neighbor-%d", r.neighbors.Add(1))}.Node()
		metav1.SetMetaDataLabel(&neighbor.ObjectMeta, provider.ManagedLabel, "false")
		return lab.RegisterNode(ctx, r.cluster.Plane.Client, neighbor)
	})
}

// joinLabeled has a node join with the label of its cloud, if there are several: without it and without a provider ID,
// its cloud is known when all clouds have answered.
func (r *runner) joinLabeled(ctx context.Context, cloud *lab.Cloud, m world.Machine, target bool) error {
	return r.joinNode(ctx, cloud, m, target, func(n *v1.Node) {
		if len(r.cluster.Clouds) > 1 {
			metav1.SetMetaDataLabel(&n.ObjectMeta, provider.ProviderLabel, cloud.Provider)
		}
	})
}
