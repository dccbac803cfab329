// Package guard has the decorators that wrap every provider: ownership of nodes, deletion safety, metrics and
// dry run. They use only the framework's interfaces, so that one set of rules applies to every cloud.
//
// The framework compares some errors with ==. Every decorator here returns the provider's errors unchanged.
package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// guarded is a provider with the guards. Its accessors only read fields: the framework calls them once per
// node.
type guarded struct {
	inner  cloudprovider.Interface
	shared *shared
	dryRun bool
	policy provider.DisruptionPolicy
	// approvals is the source of approvals.
	approvals string

	loadBalancer loadbalancer.Interface
	instances    *instances
	routes       cloudprovider.Routes

	started     func() string
	initialized func(provider.Runtime)
	// ready is set once the provider is initialized.
	ready atomic.Bool
	// waiting is why Initialize does not return yet, and since when.
	waiting atomic.Pointer[provider.PartHealth]
	// controllers are those of the provider.
	controllers sync.WaitGroup
}

var (
	_ cloudprovider.Interface    = (*guarded)(nil)
	_ cloudprovider.InformerUser = (*guarded)(nil)
	_ provider.Checker           = (*guarded)(nil)
	_ provider.HealthReporter    = (*guarded)(nil)
	_ provider.NodeOwner         = (*guarded)(nil)
	_ provider.ControllerStarter = (*guarded)(nil)
	_ inventory.Provider         = (*guarded)(nil)
	_ provider.Stopper           = (*guarded)(nil)
	_ provider.InstanceFinder    = (*guarded)(nil)
)

// Wrap returns cloud with the guards. Optional interfaces of the provider are forwarded: cloudprovider.InformerUser,
// provider.Checker, provider.HealthReporter, provider.NodeOwner, provider.ControllerStarter, provider.Stopper,
// inventory.Provider, and routes.Planner on the routes. Load balancers must implement loadbalancer.Interface.
// Initialize passes the provider its provider.Runtime before it calls the provider's own.
func Wrap(cloud cloudprovider.Interface, o Options) cloudprovider.Interface {
	o = o.withDefaults()
	s := &shared{
		provider: cloud.ProviderName(),
		owner:    ownerOf(cloud),
		events:   newRecorder(),
		nodes:    &nodeLister{},
		observe:  newObserver(cloud.ProviderName(), o.Clock),
		clock:    o.Clock,
	}
	g := &guarded{
		inner: cloud, shared: s, dryRun: o.DryRun, policy: o.Disruption, approvals: o.Approvals, started: o.Started,
		initialized: o.Initialized,
	}
	if inner, ok := cloud.LoadBalancer(); ok {
		g.loadBalancer = newBalancer(s, inner, o.DryRun)
	}
	if inner, ok := cloud.InstancesV2(); ok {
		g.instances = newInstances(s, inner, o)
	}
	if inner, ok := cloud.Routes(); ok {
		g.routes = newRoutes(s, inner, o.DryRun)
	}
	return g
}

// Initialize implements cloudprovider.Interface. It waits until the cluster's UID is read, so that no controller starts
// before, and sends Events until stop is closed. If stop is closed first, the provider is not initialized.
func (g *guarded) Initialize(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	leadingSince := ""
	if g.started != nil {
		leadingSince = g.started()
	}
	runtime, err := kube.NewRuntime(clients, stop, g.dryRun, g.setWaiting)
	if err != nil {
		return
	}
	runtime.Disruption, runtime.LeadingSince = g.policy, leadingSince
	runtime.Approvals = newApprovals(clients, g.approvals, g.dryRun)
	g.shared.events.setRecorder(runtime.Recorder)
	if user, ok := g.inner.(provider.RuntimeUser); ok {
		user.SetRuntime(runtime)
	}
	if g.initialized != nil {
		g.initialized(runtime)
	}
	g.inner.Initialize(clients, stop)
	g.ready.Store(true)
}

// partCluster is the part of the manager's health that fails while Initialize waits. No other part can work then.
const partCluster = "cluster"

func (g *guarded) setWaiting(err error) {
	if err == nil {
		g.waiting.Store(nil)
		return
	}
	since := g.shared.clock.Now()
	if before := g.waiting.Load(); before != nil {
		since = before.Since
	}
	g.waiting.Store(&provider.PartHealth{Part: partCluster, Err: err, Since: since})
}

// newApprovals returns the approvals of a source. Without clients, as in tests, they cannot be written.
func newApprovals(clients cloudprovider.ControllerClientBuilder, source string, readOnly bool) provider.Approvals {
	if clients == nil {
		return kube.NewApprovals(nil, source, true)
	}
	client, err := clients.Client("unified-ccm-approvals")
	if err != nil {
		klog.Background().Error(err, "Failed to create a client for the Kubernetes API: approvals are not removed")
		return kube.NewApprovals(nil, source, true)
	}
	return kube.NewApprovals(client, source, readOnly)
}

// SetInformers implements cloudprovider.InformerUser.
func (g *guarded) SetInformers(factory informers.SharedInformerFactory) {
	g.shared.nodes.setInformer(factory.Core().V1().Nodes(), g.shared)
	if user, ok := g.inner.(cloudprovider.InformerUser); ok {
		user.SetInformers(factory)
	}
}

// Check implements provider.Checker. It succeeds for a provider without a check.
func (g *guarded) Check(ctx context.Context) error {
	checker, ok := g.inner.(provider.Checker)
	if !ok {
		return nil
	}
	_, err := observed(ctx, g.shared.observe, "Provider", "Check", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, checker.Check(ctx)
	})
	return err
}

// errNotStarted is the reason why a cloud says nothing about instances yet.
var errNotStarted = errors.New("the cloud has not started")

// HasInstance implements provider.InstanceFinder.
func (g *guarded) HasInstance(ctx context.Context, node *v1.Node) (bool, error) {
	return g.hasInstance(ctx, node, func(inner cloudprovider.InstancesV2) existsFunc { return inner.InstanceExists })
}

// HasJoiningInstance implements provider.InstanceFinder.
func (g *guarded) HasJoiningInstance(ctx context.Context, node *v1.Node) (bool, error) {
	return g.hasInstance(ctx, node, joiningExists)
}

// hasInstance asks the provider, once it has started.
func (g *guarded) hasInstance(ctx context.Context, node *v1.Node,
	exists func(cloudprovider.InstancesV2) existsFunc) (bool, error) {
	inner, ok := g.inner.InstancesV2()
	if !ok {
		return false, nil
	}
	if !g.ready.Load() {
		return false, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "HasInstance", Err: errNotStarted}
	}
	return g.shared.instanceExists(ctx, exists(inner), node)
}

// MissingPeers implements provider.InstanceFinder.
func (g *guarded) MissingPeers(ctx context.Context, since time.Time) ([]string, error) {
	if g.instances == nil {
		return nil, nil
	}
	return g.instances.peers.missingPeers(ctx, since)
}

// Health implements provider.HealthReporter. It returns nothing if the provider does not report health by part.
func (g *guarded) Health() []provider.PartHealth {
	if parked := g.shared.observe.panics.health(); parked != nil {
		return []provider.PartHealth{*parked}
	}
	if waiting := g.waiting.Load(); waiting != nil {
		return []provider.PartHealth{*waiting}
	}
	if reporter, ok := g.inner.(provider.HealthReporter); ok {
		return reporter.Health()
	}
	return nil
}

// StartController implements provider.ControllerStarter. It passes node ownership, dry run and the Event
// recorder to the provider's controller. Call it after Initialize. A provider without controllers starts
// none.
func (g *guarded) StartController(ctx context.Context, name string, c provider.ControllerContext) (bool, error) {
	starter, ok := g.inner.(provider.ControllerStarter)
	if !ok {
		return false, nil
	}
	c.Owns, c.DryRun, c.Recorder = g.OwnsNode, g.dryRun, g.shared.events.get()
	c.Running = &g.controllers
	// The context of the framework does not end before the process does.
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(g.shared.observe.admission.stop, cancel) //nolint:contextcheck // It ends with the process.
	return starter.StartController(ctx, name, c)
}

// Stop implements provider.Stopper. It admits no further calls, waits until those in flight have ended or ctx ends, and
// stops the provider. Plans in flight end after the changes that have started. It is called once.
func (g *guarded) Stop(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("provider", g.shared.provider)
	if calls := g.shared.observe.admission.close(ctx); calls > 0 {
		logger.Info("Warning: stopping with calls in flight; the next manager continues them", "calls", calls)
	}
	g.awaitControllers(ctx)
	if stopper, ok := g.inner.(provider.Stopper); ok {
		stopper.Stop(ctx)
	}
}

// awaitControllers waits until the provider's controllers have ended or ctx ends. What they write to the cluster has to
// be there before another manager leads: it would give a podCIDR to another Node.
func (g *guarded) awaitControllers(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		g.controllers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		klog.FromContext(ctx).Info("Warning: stopping while controllers are running", "provider", g.shared.provider)
	}
}

// Inventory implements inventory.Provider.
func (g *guarded) Inventory() (inventory.Lister, bool) {
	lister, ok := g.inner.(inventory.Provider)
	if !ok {
		return nil, false
	}
	return lister.Inventory()
}

// OwnsNode implements provider.NodeOwner. The opt-out label has the same effect as a foreign provider ID.
func (g *guarded) OwnsNode(node *v1.Node) provider.Ownership { return g.shared.ownership(node) }

// LoadBalancer implements cloudprovider.Interface.
func (g *guarded) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return g.loadBalancer, g.loadBalancer != nil
}

// InstancesV2 implements cloudprovider.Interface.
func (g *guarded) InstancesV2() (cloudprovider.InstancesV2, bool) {
	if g.instances == nil {
		return nil, false
	}
	return g.instances, true
}

// Routes implements cloudprovider.Interface.
func (g *guarded) Routes() (cloudprovider.Routes, bool) { return g.routes, g.routes != nil }

// Instances implements cloudprovider.Interface. The framework does not use it beside InstancesV2.
func (g *guarded) Instances() (cloudprovider.Instances, bool) { return g.inner.Instances() }

// Zones implements cloudprovider.Interface. The framework does not use it beside InstancesV2.
func (g *guarded) Zones() (cloudprovider.Zones, bool) { return g.inner.Zones() }

// Clusters implements cloudprovider.Interface.
func (g *guarded) Clusters() (cloudprovider.Clusters, bool) { return g.inner.Clusters() }

// ProviderName implements cloudprovider.Interface.
func (g *guarded) ProviderName() string { return g.shared.provider }

// HasClusterID implements cloudprovider.Interface.
func (g *guarded) HasClusterID() bool { return g.inner.HasClusterID() }
