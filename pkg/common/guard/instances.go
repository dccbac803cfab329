package guard

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// instances adds ownership and deletion safety to a provider's InstancesV2.
type instances struct {
	*shared
	inner     cloudprovider.InstancesV2
	dryRun    bool
	deletions *deletions
	peers     peerChecker
}

var _ cloudprovider.InstancesV2 = (*instances)(nil)

func newInstances(s *shared, inner cloudprovider.InstancesV2, o Options) *instances {
	return &instances{shared: s, inner: inner, dryRun: o.DryRun, deletions: newDeletions(s.provider, o),
		peers: newPeers(s, inner)}
}

// InstanceExists implements cloudprovider.InstancesV2. The framework deletes the Node only on (false, nil).
// Foreign nodes exist; a missing instance is reported only once the rules of deletions allow it; errors are
// returned unchanged and have no effect on those rules.
func (i *instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	owner := i.ownership(node)
	if owner == provider.Foreign {
		return true, nil
	}
	uid := identity(node)
	// The peers are read between two answers about the node. A cloud whose account changes once, to a wrong one or back,
	// cannot miss the node twice and find the peers in between.
	since, again := i.deletions.missingSince(uid)
	var missingPeers []string
	var peersErr error
	if again {
		missingPeers, peersErr = i.peers.missingPeers(ctx, since)
	}
	exists, err := i.instanceExists(ctx, i.inner.InstanceExists, node)
	if err != nil {
		return exists, err
	}
	if exists {
		if i.deletions.recordFound(uid) {
			i.events.sendNode(node, events.InstanceFound,
				"The cloud reports the instance of this node again; the node stays.")
		}
		return true, nil
	}
	if !again && i.deletions.acceptFirst() {
		missingPeers, peersErr = i.peers.missingPeers(ctx, i.clock.Now())
	}
	if peersErr != nil {
		return false, peersErr
	}
	v := i.deletions.recordMissing(uid, owner, missingPeers)
	if v.kept == "" {
		return false, nil
	}
	if v.changed {
		i.reportKept(ctx, node, v)
	}
	return true, nil
}

func (i *instances) reportKept(ctx context.Context, node *v1.Node, v verdict) {
	i.observe.suppressed(v.kept)
	klog.FromContext(ctx).Info("Instance not found, keeping the node", "node", klog.KObj(node), "provider", i.provider,
		"providerID", node.Spec.ProviderID, "reason", v.kept)
	send := events.Send
	if v.kept == confirming {
		// Every scale-down takes this path, so it is not a warning.
		send = events.SendNormal
	}
	send(i.events.get(), node, events.NodeDeletionSuppressed,
		"The cloud reports that the instance of this node does not exist. The node is not deleted yet: "+v.detail+".")
}

// InstanceShutdown implements cloudprovider.InstancesV2. The framework taints the Node on true. A node that
// is kept although its instance is missing is not reported as shut down, because its state is unknown.
func (i *instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if i.dryRun || i.ownership(node) != provider.Mine {
		return false, nil
	}
	shutdown, err := observed(ctx, i.observe, "InstancesV2", "InstanceShutdown", func(ctx context.Context) (bool, error) {
		return i.inner.InstanceShutdown(ctx, node)
	}, tracing.Node.String(node.Name))
	if errors.Is(err, cloudprovider.InstanceNotFound) && i.deletions.isKept(identity(node)) {
		return false, nil
	}
	return shutdown, err
}

// InstanceMetadata implements cloudprovider.InstancesV2. A node that is left alone needs two different
// results. While it has the taint of an external cloud provider, nil means "skip", and anything else would
// remove the taint from a node that its own cloud still has to initialise. Afterwards the framework's
// periodic pass dereferences the result without a nil check, and an empty one means "nothing to update".
func (i *instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	foreign := i.ownership(node) == provider.Foreign
	if foreign {
		i.events.sendNodeOnce(node, events.NodeNotOurs, "This node is skipped, because "+i.foreignReason(node)+
			". The manager of its own cloud has to initialize it and to delete it.")
	}
	if foreign || i.dryRun {
		if nodes.Uninitialized(node) {
			return nil, nil //nolint:nilnil // the framework's value for "skip"
		}
		return &cloudprovider.InstanceMetadata{}, nil
	}
	return observed(ctx, i.observe, "InstancesV2", "InstanceMetadata", func(
		ctx context.Context,
	) (*cloudprovider.InstanceMetadata, error) {
		return i.inner.InstanceMetadata(ctx, node)
	}, tracing.Node.String(node.Name))
}
