// Package controllers starts the controllers of the manager, those of the framework and those of providers: one of each
// for each cloud.
package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Rejected credentials are tried again after rejectedRetry at first, and then after twice the previous wait, up to
// rejectedRetryMax. A process that exits instead is restarted with the same credentials, each time with one more failed
// login: vCenter Single Sign-On locks the account after five.
const (
	rejectedRetry    = 30 * time.Second
	rejectedRetryMax = 5 * time.Minute
)

// Health is the health of a cloud.
type Health interface {
	// Check verifies that the cloud accepts the credentials.
	Check(ctx context.Context) error
	// SetBlocked stores why the set does no work at all. Nil ends that.
	SetBlocked(err error)
}

// Set is one cloud with its guards, and the state of its start. Each cloud has a set of controllers of its
// own, over views of the shared informers: errors, hangs and panics of one never reach another.
type Set struct {
	provider provider.Descriptor
	// cloud is the provider with its guards.
	cloud  cloudprovider.Interface
	health Health
	clock  clock.Clock
	// Rejected is the error of credentials that the cloud rejects; nil if it does not.
	Rejected error
	// Unanswered is set if the cloud gave no answer at start.
	Unanswered bool
	// accepted is closed once the cloud does not reject the credentials, and started once it is initialized: its
	// controllers start then.
	accepted, started chan struct{}
}

// NewSet returns the set of a provider with its guards.
func NewSet(d provider.Descriptor, cloud cloudprovider.Interface, health Health, c clock.Clock) *Set {
	return &Set{
		provider: d, cloud: cloud, health: health, clock: c, accepted: make(chan struct{}), started: make(chan struct{}),
	}
}

func (s *Set) name() string { return s.provider.Name }

func (s *Set) hasStarted() bool {
	select {
	case <-s.started:
		return true
	default:
		return false
	}
}

// AwaitCredentials returns when the cloud does not reject the credentials any more, or ctx has ended. Until then the
// set does no work, and a process without another set does not take part in the leader election: another replica may
// have accepted credentials.
func (s *Set) AwaitCredentials(ctx context.Context) {
	defer close(s.accepted)
	if s.Rejected == nil {
		return
	}
	logger := klog.FromContext(ctx).WithValues("provider", s.name())
	s.health.SetBlocked(s.Rejected)
	for wait := rejectedRetry; ; wait = min(2*wait, rejectedRetryMax) {
		logger.Error(s.Rejected, "Not ready: waiting for credentials that the cloud accepts", "retryAfter", wait)
		if clocks.Sleep(ctx, s.clock, wait) != nil {
			return
		}
		if err := s.health.Check(ctx); !cloudapi.Is(err, cloudapi.Denied) {
			logger.Info("The cloud does not reject the credentials any more")
			s.health.SetBlocked(nil)
			return
		}
	}
}

// start initializes the cloud.
func (s *Set) start(clients cloudprovider.ControllerClientBuilder, factory informers.SharedInformerFactory,
	stop <-chan struct{}) {
	s.cloud.Initialize(clients, stop)
	if user, ok := s.cloud.(cloudprovider.InformerUser); ok {
		user.SetInformers(factory)
	}
	close(s.started)
}

// Sets are the clouds of the process. The framework sees them as one cloud: it initializes them, and starts
// each kind of controller once, with a function that starts one for each set.
type Sets struct {
	provider.Base
	sets []*Set
	// services decides which cloud has the load balancer of a Service.
	services *assign.Services
	// nodes decides whose a Node is; nil with one cloud, which sees all Nodes.
	nodes *assign.Nodes
	// unidentified is the cloud of Nodes that may be of any of several; nil with one cloud.
	unidentified cloudprovider.Interface

	// ranges are the podCIDRs of the cluster, which all clouds share.
	rangesOnce sync.Once
	ranges     *podcidr.Ranges

	// clients have the account of the pod, whatever --use-service-account-credentials says: the roles of other managers
	// know the accounts of the framework's controllers only.
	clients cloudprovider.ControllerClientBuilder
	stop    <-chan struct{}
}

var (
	_ cloudprovider.Interface    = (*Sets)(nil)
	_ cloudprovider.InformerUser = (*Sets)(nil)
)

// NewSets returns the sets of a process. The name is that of the flag.
func NewSets(name string, sets ...*Set) *Sets { return &Sets{Base: provider.NewBase(name), sets: sets} }

// podRanges returns the allocator of podCIDRs, which is made once.
func (c *Sets) podRanges(create func() *podcidr.Ranges) *podcidr.Ranges {
	c.rangesOnce.Do(func() { c.ranges = create() })
	return c.ranges
}

// All returns the sets.
func (c *Sets) All() []*Set { return c.sets }

// Watch creates the clients of the clouds and the views of the shared informers. It is called before the informers
// start.
func (c *Sets) Watch(config *appconfig.CompletedConfig, o Options) {
	c.clients = clientbuilder.SimpleControllerClientBuilder{ClientConfig: config.Kubeconfig}
	core := config.SharedInformers.Core().V1()
	services := assign.ServicesOptions{
		Choice:      assign.Choice{Default: o.DefaultProvider, Classes: o.Classes},
		ClusterName: config.ComponentConfig.KubeCloudShared.ClusterName, Informer: core.Services(), MoveDelay: o.MoveDelay,
	}
	var nodes []assign.NodeCloud
	var finders []provider.InstanceFinder
	for _, set := range c.sets {
		impl, _ := set.cloud.LoadBalancer()
		balancer, _ := impl.(loadbalancer.Interface)
		services.Choice.Clouds = append(services.Choice.Clouds, set.name())
		services.Clouds = append(services.Clouds, assign.ServiceCloud{
			Name: set.name(), Balancer: balancer, Started: set.hasStarted,
		})
		owner, _ := set.cloud.(provider.NodeOwner)
		finder, _ := set.cloud.(provider.InstanceFinder)
		finders = append(finders, finder)
		nodes = append(nodes, assign.NodeCloud{
			Name: set.name(), Owns: owner.OwnsNode, Finder: finder,
		})
	}
	if services.Choice.Default == "" {
		services.Choice.Default = c.sets[0].name()
	}
	if len(c.sets) > 1 {
		c.nodes = assign.NewNodes(core.Nodes(), nil, nodes...)
		services.CloudOfNode = c.nodes.OwnerOf
		c.unidentified = guard.Unidentified(finders, c.nodes.HasInstance, o.Guard)
	}
	c.services = assign.NewServices(services)
}

// SetRuntime gives the assignment access to the cluster.
func (c *Sets) SetRuntime(r provider.Runtime) {
	c.services.SetRuntime(r)
	if c.nodes != nil {
		c.nodes.SetRecorder(r.Recorder)
	}
}

// nodesOf returns the informer of the Nodes of a set.
func (c *Sets) nodesOf(set *Set, all coreinformers.NodeInformer) coreinformers.NodeInformer {
	if c.nodes == nil {
		return all
	}
	return c.nodes.Of(set.name())
}

// Initialize implements cloudprovider.Interface. The framework calls it on the leader.
func (c *Sets) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.stop = stop
}

// SetInformers implements cloudprovider.InformerUser. The framework calls it after Initialize, and starts the
// controllers after it: those of one cloud only after it is initialized. With several, each starts by itself.
func (c *Sets) SetInformers(factory informers.SharedInformerFactory) {
	ctx := wait.ContextForChannel(c.stop)
	run := func(ctx context.Context, what string, assignment func(context.Context) error) {
		if err := assignment(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to assign objects to clouds", "kind", what)
		}
	}
	if len(c.sets) == 1 {
		c.sets[0].start(c.clients, factory, c.stop)
		go run(ctx, "Service", c.services.Run)
		return
	}
	for _, set := range c.sets {
		go func() {
			select {
			case <-set.accepted:
			case <-c.stop:
				return
			}
			set.start(c.clients, factory, c.stop)
			// Those that were requested after the framework has started the others.
			factory.Start(c.stop)
			c.nodes.Retry()
			c.services.Retry()
		}()
	}
	go c.unidentified.Initialize(c.clients, c.stop)
	go run(ctx, "Service", c.services.Run)
	go run(ctx, "Node", c.nodes.Run)
}

// LoadBalancer implements cloudprovider.Interface. Each set has its own.
func (*Sets) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// InstancesV2 implements cloudprovider.Interface. Each set has its own.
func (*Sets) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

// Routes implements cloudprovider.Interface. Each set has its own.
func (*Sets) Routes() (cloudprovider.Routes, bool) { return nil, false }

// Stop ends the work of all sets.
func (c *Sets) Stop(ctx context.Context) {
	var group sync.WaitGroup
	for _, set := range c.sets {
		if stopper, ok := set.cloud.(provider.Stopper); ok {
			group.Go(func() { stopper.Stop(ctx) })
		}
	}
	group.Wait()
}

// startFunc starts a controller of a set. It reports whether the set has such a controller. An error is about invalid
// flags.
type startFunc func(ctx context.Context, start controllerStart) (started bool, err error)

// controllerStart is what the start of a controller of a set needs.
type controllerStart struct {
	app.ControllerInitContext
	config *appconfig.CompletedConfig
	shared controllermanagerapp.ControllerContext
	sets   *Sets
	set    *Set
}

// informers returns the shared informers.
func (s controllerStart) informers() coreinformers.Interface {
	return s.config.SharedInformers.Core().V1()
}

// perSet returns the framework's constructor of a kind of controller, of which each set has one. That of a set that has
// not started yet starts later.
func perSet(start startFunc) app.InitFuncConstructor {
	return func(initContext app.ControllerInitContext, config *appconfig.CompletedConfig,
		cloud cloudprovider.Interface) app.InitFunc {
		return func(ctx context.Context, shared controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
			sets, _ := cloud.(*Sets)
			anyStarted := false
			for _, set := range sets.sets {
				s := controllerStart{initContext, config, shared, sets, set}
				if set.hasStarted() {
					started, err := start(ctx, s)
					if err != nil {
						return nil, false, err
					}
					anyStarted = anyStarted || started
					continue
				}
				anyStarted = true
				go startLater(ctx, start, s)
			}
			return nil, anyStarted, nil
		}
	}
}

// startLater starts the controller of a set once that has started.
func startLater(ctx context.Context, start startFunc, s controllerStart) {
	select {
	case <-s.set.started:
	case <-ctx.Done():
		return
	}
	if _, err := start(ctx, s); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to start a controller", "provider", s.set.name())
	}
}
