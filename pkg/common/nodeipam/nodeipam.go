// Package nodeipam sets the podCIDRs of Nodes: to ranges that the cloud has assigned to their instances
// (CloudAllocator), or to parts of the cluster's ranges (RangeAllocator).
package nodeipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodequeue"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// The names of the controller in --controllers: its own, and the one that kube-controller-manager has too. They can
// never change.
const (
	Name  = "node-ipam-controller"
	alias = "nodeipam"
)

// The values of --cidr-allocator-type.
const (
	RangeAllocator = "RangeAllocator"
	CloudAllocator = "CloudAllocator"
)

const (
	// maxBackoff is the longest time until a range is found that became available later.
	maxBackoff = time.Minute
	// maxBatch is the number of Nodes of a batch without calls to the cloud.
	maxBatch = 500
	// reasonRoute and reasonNoRoute are the reasons of the condition NetworkUnavailable that route controllers set.
	reasonRoute, reasonNoRoute = "RouteCreated", "NoRouteCreated"
	// writeTimeout bounds the writes to a Node, which end after the context of the manager has: a write that is canceled
	// may take effect while the next manager gives its podCIDR to another Node.
	writeTimeout = 10 * time.Second
	// writers is the number of Nodes that are written at once.
	writers = 16
)

// Controller returns the controller, for a provider's descriptor. If it is opt-in, kube-controller-manager allocates
// podCIDRs unless --controllers names this one: two allocators for one range would give a podCIDR to two Nodes.
func Controller(optIn bool) provider.Controller { return provider.Controller{Name: Name, OptIn: optIn} }

// Aliases returns the further names of the controller, with those of others.
func Aliases(others map[string]string) map[string]string {
	all := map[string]string{alias: Name}
	maps.Copy(all, others)
	return all
}

// Starter implements provider.ControllerStarter for a provider without other controllers, whose cloud assigns no ranges
// to instances.
type Starter struct{}

var _ provider.ControllerStarter = Starter{}

// StartController implements provider.ControllerStarter.
func (Starter) StartController(ctx context.Context, name string, c provider.ControllerContext) (bool, error) {
	if name != Name {
		return false, nil
	}
	return Start(ctx, c, nil)
}

// Start starts the controller if the flags ask for it. The source has the ranges of instances; nil if the cloud assigns
// none. The error is about flags.
func Start(ctx context.Context, c provider.ControllerContext, source Source) (started bool, err error) {
	if !c.AllocateNodeCIDRs {
		return false, nil
	}
	p := &ipam{ControllerContext: c}
	batch := maxBatch
	switch {
	case c.CIDRAllocatorType == RangeAllocator:
		if err := c.PodCIDRs.Validate(); err != nil {
			return false, err
		}
		p.allocator = &fromRanges{c.PodRanges}
	case c.CIDRAllocatorType == CloudAllocator && source != nil:
		p.allocator = &fromCloud{ControllerContext: c, source: source, chosen: map[types.UID][]netip.Prefix{}}
		p.routed = true
		batch = source.MaxBatch()
	case source == nil:
		return false, fmt.Errorf("--cidr-allocator-type=%s: this cloud assigns no ranges to machines, use %s",
			c.CIDRAllocatorType, RangeAllocator)
	default:
		return false, fmt.Errorf("--cidr-allocator-type=%s: use %s, or %s", c.CIDRAllocatorType, CloudAllocator,
			RangeAllocator)
	}
	queue, err := nodequeue.New(nodequeue.Options{
		Name: Name, NeedsSync: p.needsSync, Same: p.isSame, Sync: p.sync, MaxBatch: batch, Workers: 1, MaxBackoff: maxBackoff,
	}, c.Nodes)
	if err != nil {
		return false, fmt.Errorf("starting controller %s: %w", Name, err)
	}
	c.Go(func() { queue.Run(ctx) })
	return true, nil
}

// allocator finds the podCIDRs of Nodes that have none.
type allocator interface {
	// has reports whether a Node of the cloud may get podCIDRs. It does no I/O.
	has(node *v1.Node) bool
	// find returns the podCIDRs of Nodes by name, and the errors of those that get none.
	find(ctx context.Context, list []*v1.Node) (map[string][]string, map[string]error)
	// verify returns the errors about Nodes that have podCIDRs which the cloud does not route to them.
	verify(ctx context.Context, list []*v1.Node) map[string]error
	// settle is called after a failed write, with what the API server shows that the Node has; nothing if it does not
	// exist.
	settle(uid types.UID, has []netip.Prefix)
}

// ipam sets podCIDRs. They are immutable: it never changes one.
type ipam struct {
	provider.ControllerContext
	allocator
	// routed is set if the cloud routes podCIDRs to the Nodes: their network is available.
	routed bool
}

// needsSync reports whether the Node has no podCIDR, or not the condition that goes with it. It waits for its provider
// ID: others get none from this manager.
func (p *ipam) needsSync(node *v1.Node) bool {
	return p.Owns(node) == provider.Mine && node.DeletionTimestamp == nil && p.has(node) &&
		(!hasPodCIDR(node) || p.routed && !p.hasNetworkCondition(node))
}

// isSame reports whether two states of a Node are the same for its podCIDRs: whose it is, which machine it has, and
// what it has got.
func (p *ipam) isSame(before, after *v1.Node) bool {
	return before.UID == after.UID && before.Spec.ProviderID == after.Spec.ProviderID &&
		before.Labels[provider.ManagedLabel] == after.Labels[provider.ManagedLabel] &&
		p.needsSync(before) == p.needsSync(after) && isUnavailable(before) == isUnavailable(after)
}

// hasNetworkCondition reports whether the condition NetworkUnavailable is set, by whomever: network plugins set it too.
// What a route controller set for a route that it did not create does not count if none runs: nobody would repair it.
func (p *ipam) hasNetworkCondition(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeNetworkUnavailable &&
			(p.Routes || c.Status != v1.ConditionTrue || c.Reason != reasonNoRoute)
	})
}

// isUnavailable reports whether the network of the Node is not available according to its condition.
func isUnavailable(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeNetworkUnavailable && c.Status == v1.ConditionTrue
	})
}

func hasPodCIDR(node *v1.Node) bool { return node.Spec.PodCIDR != "" || len(node.Spec.PodCIDRs) > 0 }

// sync sets the podCIDRs of Nodes.
func (p *ipam) sync(ctx context.Context, batch []nodequeue.Work) map[nodequeue.Task]error {
	if p.DryRun {
		klog.FromContext(ctx).Info("Dry run: not setting podCIDRs", "nodes", len(batch))
		return nil
	}
	var with, without []*v1.Node
	for _, w := range batch {
		if hasPodCIDR(w.Object) {
			with = append(with, w.Object)
		} else {
			without = append(without, w.Object)
		}
	}
	found, failed := p.find(ctx, without)
	maps.Copy(failed, p.verify(ctx, with))
	errs := make([]error, len(batch))
	workqueue.ParallelizeUntil(ctx, writers, len(batch), func(i int) {
		node := batch[i].Object
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		errs[i] = panics.Do(func() error { return p.syncNode(ctx, node, found[node.Name], failed[node.Name]) })
	})
	all := map[nodequeue.Task]error{}
	for i, w := range batch {
		all[w.Task] = errs[i]
		// A conflict is repeated with what the Node has then; an end of the manager says nothing about the Node.
		if errs[i] != nil && ctx.Err() == nil && !apierrors.IsConflict(errs[i]) {
			events.Send(p.Recorder, w.Object, events.CIDRNotAvailable, errs[i].Error())
		}
	}
	return all
}

// syncNode sets what a Node lacks: the podCIDRs that were found for it, or the condition.
func (p *ipam) syncNode(ctx context.Context, node *v1.Node, podCIDRs []string, err error) error {
	switch {
	case errors.Is(err, errNotAssigned) && !isUnavailable(node):
		return nil // of another allocator; nothing is wrong with a Node without the condition
	case err != nil:
		return err
	case hasPodCIDR(node):
		return p.setNetwork(ctx, node)
	case len(podCIDRs) == 0:
		return nil
	default:
		return p.write(ctx, node, podCIDRs)
	}
}

// write sets the podCIDRs of a Node. After an error, the Node decides what is known of them.
func (p *ipam) write(ctx context.Context, node *v1.Node, podCIDRs []string) error {
	client := p.Client.CoreV1().Nodes()
	// The API server rejects the patch for another Node of that name, and one that changes a podCIDR.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID},
		"spec":     map[string]any{"podCIDR": podCIDRs[0], "podCIDRs": podCIDRs},
	})
	if err != nil {
		return err
	}
	written, err := client.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		current, getErr := client.Get(ctx, node.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(getErr) || getErr == nil && current.UID != node.UID:
			p.settle(node.UID, nil)
			return nil
		case getErr != nil || !hasPodCIDR(current):
			return fmt.Errorf("setting podCIDRs %s: %w", strings.Join(podCIDRs, ","), err)
		case !slices.Equal(current.Spec.PodCIDRs, podCIDRs):
			p.settle(node.UID, podcidr.OfNode(current.Spec.PodCIDR, current.Spec.PodCIDRs))
			return nil
		}
		written = current
	}
	klog.FromContext(ctx).Info("Set podCIDRs of node", "node", node.Name, "podCIDRs", podCIDRs)
	if p.hasNetworkCondition(written) {
		return nil // of a network plugin, for instance
	}
	return p.setNetwork(ctx, written)
}

// setNetwork sets the condition NetworkUnavailable of a Node to False, as the route controller does for its routes.
func (p *ipam) setNetwork(ctx context.Context, node *v1.Node) error {
	if !p.routed {
		return nil
	}
	now := metav1.NewTime(p.Clock.Now())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID}, // as in write
		"status": map[string]any{"conditions": []v1.NodeCondition{{
			Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse, Reason: reasonRoute,
			Message: "The cloud routes the podCIDRs of the node", LastTransitionTime: now, LastHeartbeatTime: now,
		}}},
	})
	if err != nil {
		return err
	}
	_, err = p.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("setting condition %s: %w", v1.NodeNetworkUnavailable, err)
	}
	return nil
}
