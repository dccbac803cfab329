// Package assign decides which of several clouds in one process a Node and a Service belong to. It contains no code of
// a cloud. A Node belongs to the cloud of its provider ID or, before it has one, to the only cloud that has its
// instance. A Service belongs to the cloud that is recorded in its status.
package assign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/views"
)

const (
	// askTimeout bounds the question to several clouds. A cloud that does not answer has not said no.
	askTimeout = 30 * time.Second
	// joinTimeout bounds the question to the only cloud that a Node may belong to: two lists and a read, each of which the
	// cloud bounds. No other cloud waits for it.
	joinTimeout = 3 * time.Minute
)

// NodeCloud is one of the clouds that may have a Node.
type NodeCloud struct {
	Name string
	// Owns classifies a Node by its provider ID and by the opt-out label. It does no I/O.
	Owns func(*v1.Node) provider.Ownership
	// Finder finds the instances of Nodes without a provider ID.
	Finder provider.InstanceFinder
}

// Nodes decides about the Nodes of a cluster.
type Nodes struct {
	clouds   []NodeCloud
	informer coreinformers.NodeInformer
	lister   corelisters.NodeLister
	clock    clock.Clock
	runner   *runner
	recorder recorder
	views    map[string]*views.Nodes

	mu sync.Mutex
	// found has what is known about Nodes without a provider ID, by UID.
	found map[types.UID]finding
}

// finding is what the clouds have said about a Node without a provider ID.
type finding struct {
	// since is when the Node was seen first, and hint what selected the clouds that were asked.
	since time.Time
	hint  string
	owner string
	// joined is set after the first question that shares the reads of joining Nodes: those are lists, which a Node without
	// an instance must not cause again and again.
	joined bool
}

// NewNodes returns the assignment of the Nodes of an informer. It makes no call before Run.
func NewNodes(nodes coreinformers.NodeInformer, c clock.Clock, clouds ...NodeCloud) *Nodes {
	process().set.Register()
	n := &Nodes{
		clouds: clouds, informer: nodes, lister: nodes.Lister(), clock: clocks.OrReal(c), recorder: newRecorder(),
		views: map[string]*views.Nodes{}, found: map[types.UID]finding{},
	}
	n.runner = newRunner("node-assignment", n.sync)
	for _, cloud := range clouds {
		n.views[cloud.Name] = views.OfNodes(nodes, func(node *v1.Node) bool { return n.Owner(node) == cloud.Name })
		process().conflicts.WithLabelValues(cloud.Name)
	}
	return n
}

// SetRecorder sets the recorder of Events. They are dropped before.
func (n *Nodes) SetRecorder(r events.Recorder) { n.recorder.set(r) }

// Of returns the informer of the Nodes of a cloud.
func (n *Nodes) Of(cloud string) *views.Nodes { return n.views[cloud] }

// IdentifiedOf returns the informer of those Nodes of a cloud that have a provider ID. Only its own cloud decides
// whether the machine of such a Node still exists.
func (n *Nodes) IdentifiedOf(cloud string) *views.Nodes {
	return views.OfNodes(n.informer, func(node *v1.Node) bool { return n.byID(node) == cloud })
}

// Unidentified returns the informer of the Nodes that any of the clouds may have: those without a provider ID, without
// the opt-out label, and without the hint to a cloud that is none of these. Only all clouds together decide whether
// the machine of such a Node exists.
func (n *Nodes) Unidentified() *views.Nodes {
	return views.OfNodes(n.informer, func(node *v1.Node) bool {
		return isUnidentified(node) && len(n.candidates(node)) > 0
	})
}

// Owner returns the name of the cloud that a Node belongs to; empty if it is unknown, or none of these clouds.
func (n *Nodes) Owner(node *v1.Node) string {
	if !isUnidentified(node) {
		return n.byID(node)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.found[node.UID]; f.hint == hintOf(node) {
		return f.owner
	}
	return ""
}

// OwnerOf returns the name of the cloud that the Node of a name belongs to, as Owner does; empty if there is none.
func (n *Nodes) OwnerOf(name string) string {
	node, err := n.lister.Get(name)
	if err != nil {
		return ""
	}
	return n.Owner(node)
}

// isUnidentified reports whether only the clouds know whose Node it is.
func isUnidentified(node *v1.Node) bool {
	return node.Spec.ProviderID == "" && node.Labels[provider.ManagedLabel] != "false"
}

// byID returns the only cloud whose provider ID the Node has, or "".
func (n *Nodes) byID(node *v1.Node) string {
	if names := n.claims(node); len(names) == 1 {
		return names[0]
	}
	return ""
}

// claims returns the clouds whose provider ID the Node has.
func (n *Nodes) claims(node *v1.Node) []string {
	var names []string
	for _, cloud := range n.clouds {
		if node.Spec.ProviderID != "" && cloud.Owns(node) == provider.Mine {
			names = append(names, cloud.Name)
		}
	}
	return names
}

// hintOf returns the cloud that the label or the annotation of a Node names; empty for none. A kubelet may write both,
// so a hint only selects the cloud to ask.
func hintOf(node *v1.Node) string {
	if hint := node.Labels[provider.ProviderLabel]; hint != "" {
		return hint
	}
	return node.Annotations[provider.PlatformAnnotation]
}

// candidates returns the clouds to ask about a Node.
func (n *Nodes) candidates(node *v1.Node) []NodeCloud {
	hint := hintOf(node)
	if hint == "" {
		return n.clouds
	}
	return slices.DeleteFunc(slices.Clone(n.clouds), func(c NodeCloud) bool { return c.Name != hint })
}

// Retry decides again about all Nodes that wait, because a cloud has started.
func (n *Nodes) Retry() {
	all, err := n.lister.List(labels.Everything())
	if err != nil {
		return // The lister of an informer returns none.
	}
	for _, node := range all {
		if isUnidentified(node) && n.Owner(node) == "" {
			n.runner.add(node.Name)
		}
	}
}

// Run decides until ctx ends.
func (n *Nodes) Run(ctx context.Context) error {
	defer n.runner.queue.ShutDown() // Informers that have stopped accept no handler.
	_, err := n.informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { n.queue(nil, object) },
		UpdateFunc: func(before, after any) {
			old, _ := before.(*v1.Node)
			n.queue(old, after)
		},
		DeleteFunc: n.forget,
	})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	n.runner.run(ctx)
	return nil
}

// hintDelay is the time after which changed labels count: a kubelet can change them as often as it likes.
const hintDelay = 5 * time.Second

// queue queues a Node if it is new, or if what decides about it has changed: not for each heartbeat.
func (n *Nodes) queue(old *v1.Node, object any) {
	node, ok := object.(*v1.Node)
	if !ok {
		return
	}
	switch {
	case old == nil, old.UID != node.UID, old.Spec.ProviderID != node.Spec.ProviderID:
		n.runner.add(node.Name)
	case hintOf(old) != hintOf(node), isUnidentified(old) != isUnidentified(node):
		n.runner.queue.AddAfter(node.Name, hintDelay)
	}
}

func (n *Nodes) forget(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if node, ok := object.(*v1.Node); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.found, node.UID)
	}
}

// sync decides about the Node of a name. The error is why it is not decided yet.
func (n *Nodes) sync(ctx context.Context, name string) (time.Duration, error) {
	node, err := n.lister.Get(name)
	if err != nil {
		return 0, nil //nolint:nilerr // The Node was deleted.
	}
	if !isUnidentified(node) {
		if node.Spec.ProviderID != "" {
			n.forget(node) // One with the opt-out label may lose that again.
		}
		n.reportID(node)
		return 0, nil
	}
	if n.Owner(node) != "" {
		return 0, nil
	}
	return 0, n.find(ctx, node)
}

// reportID sends an Event about a Node whose provider ID is not one of exactly one cloud.
func (n *Nodes) reportID(node *v1.Node) {
	names := n.claims(node)
	switch {
	case len(names) > 1:
		n.reportConflict(node, names)
	case len(names) == 0 && node.Labels[provider.ManagedLabel] == "false":
		n.recorder.sendOnce(node, events.NodeNotOurs, "This node is skipped, because it has the label "+
			provider.ManagedLabel+"=false. Whoever manages it has to initialize it and to delete it.")
	case len(names) == 0:
		n.recorder.sendOnce(node, events.NodeNotOurs, fmt.Sprintf("This node is skipped, because its provider ID %s is not "+
			"one of %s. The manager of its own cloud has to initialize it and to delete it.", node.Spec.ProviderID,
			n.names(n.clouds)))
	}
}

func (n *Nodes) reportConflict(node *v1.Node, names []string) {
	for _, name := range names {
		process().conflicts.WithLabelValues(name).Inc()
	}
	n.recorder.sendOnce(node, events.NodeOwnerConflict, fmt.Sprintf("%s have a machine of this node, so that it is "+
		"nobody's: set --provider-id of its kubelet, or the label %s.", strings.Join(names, " and "), provider.ProviderLabel))
}

func (n *Nodes) names(clouds []NodeCloud) string {
	var names []string
	for _, cloud := range clouds {
		names = append(names, cloud.Name)
	}
	return strings.Join(names, ", ")
}

// find asks the clouds. A Node is one's only if all that were asked have answered, and only that one has its instance.
func (n *Nodes) find(ctx context.Context, node *v1.Node) error {
	n.mu.Lock()
	f, seen := n.found[node.UID]
	if !seen {
		f.since = n.clock.Now()
	}
	f.hint, f.owner = hintOf(node), ""
	ask, timeout := provider.InstanceFinder.HasInstance, askTimeout
	// The hint of a Node excludes a conflict, so that its cloud is read as if it were the only one.
	if f.hint != "" && !f.joined {
		ask, timeout, f.joined = provider.InstanceFinder.HasJoiningInstance, joinTimeout, true
	}
	n.found[node.UID] = f
	n.mu.Unlock()

	candidates := n.candidates(node)
	if len(candidates) == 0 {
		n.recorder.sendOnce(node, events.NodeNotOurs, fmt.Sprintf("This node is skipped, because its label %s or its "+
			"annotation %s names %q, which is not one of %s.", provider.ProviderLabel, provider.PlatformAnnotation, f.hint,
			n.names(n.clouds)))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	names, err := havingInstance(ctx, node, candidates, ask)
	switch {
	case err != nil:
		return err
	case len(names) > 1:
		n.reportConflict(node, names)
		return fmt.Errorf("%s have an instance of node %s", strings.Join(names, " and "), node.Name)
	case len(names) == 0:
		return fmt.Errorf("no instance of node %s in %s", node.Name, n.names(candidates))
	}
	f.owner = names[0]
	n.mu.Lock()
	_, exists := n.found[node.UID]
	if exists {
		n.found[node.UID] = f
	}
	n.mu.Unlock()
	if !exists {
		return nil // The Node was deleted while its cloud was read.
	}
	process().duration.WithLabelValues(f.owner).Observe(n.clock.Since(f.since).Seconds())
	n.views[f.owner].Refresh(node)
	return nil
}

// havingInstance asks the clouds at the same time, and returns the names of those that have the instance of a Node. An
// error means that at least one has not answered.
func havingInstance(ctx context.Context, node *v1.Node, clouds []NodeCloud,
	ask func(provider.InstanceFinder, context.Context, *v1.Node) (bool, error)) ([]string, error) {
	return asked(clouds, func(cloud NodeCloud) (string, bool, error) {
		has, err := ask(cloud.Finder, ctx, node)
		return cloud.Name, has, err
	})
}
