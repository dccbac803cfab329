package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	routecontroller "k8s.io/cloud-provider/controllers/route"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/controller-manager/pkg/features"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/memapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
)

// ClusterCIDR is the --cluster-cidr under which every driver runs the manager. The route controller
// ignores routes outside of it.
const ClusterCIDR = "10.244.0.0/16"

// Number of concurrent workers of each controller.
const (
	nodeWorkers    = 16
	serviceWorkers = 64
)

var controllerMetrics = sync.OnceValue(func() *controllersmetrics.ControllerManagerMetrics {
	return controllersmetrics.NewControllerManagerMetrics("conformance")
})

// prepareProcess adapts the framework's global state to bubbles, once.
var prepareProcess = sync.OnceValue(func() error {
	// The default handlers sleep until a millisecond after the last error of the whole process. Each bubble has
	// its own clock, so that the sleep could take years of it.
	utilruntime.ErrorHandlers = nil //nolint:reassign // exported for this purpose, and the only way to remove the sleep
	// Routes are compared periodically, which is the framework's default. In cmd/ccm, node events trigger it:
	// then a route with a failed deletion stays until the next event, and the last node has none.
	return features.SetupCurrentKubernetesSpecificFeatureGates(utilfeature.DefaultMutableFeatureGate)
})

// discardLogs drops the framework's log lines for the duration of a test: it logs every injected failure.
func discardLogs(t testing.TB) {
	t.Helper()
	if err := prepareProcess(); err != nil {
		t.Fatal(err)
	}
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetLogger(logr.Discard())
}

// manager is one run of the manager under test: the provider and the framework's controllers.
type manager struct {
	cloud   cloudprovider.Interface
	results *results
	// ctx ends when the process is stopped or killed.
	ctx context.Context
	end context.CancelFunc
}

// startManager starts the controllers of k8s.io/cloud-provider on a provider, and waits for their caches.
func startManager(ctx context.Context, server *memapi.Server, cloud cloudprovider.Interface) (*manager, error) {
	processCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	m := &manager{cloud: cloud, results: newResults(), ctx: processCtx, end: end}
	client := server.Client(processCtx)
	factory := informers.NewSharedInformerFactory(client, tick)
	cloud.Initialize(memapi.ClientBuilder{Interface: client}, processCtx.Done())
	if user, ok := cloud.(cloudprovider.InformerUser); ok {
		user.SetInformers(factory)
	}
	observed := observedCloud{cloud, m}
	var runs []func()
	nodes, services := factory.Core().V1().Nodes(), factory.Core().V1().Services()
	if _, ok := cloud.InstancesV2(); ok {
		controller, err := nodecontroller.NewCloudNodeController(nodes, client, observed,
			statusPeriod, nodeWorkers, nodeWorkers)
		if err != nil {
			end()
			return nil, fmt.Errorf("node controller: %w", err)
		}
		lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, client, observed, tick, nodeWorkers)
		if err != nil {
			end()
			return nil, fmt.Errorf("node lifecycle controller: %w", err)
		}
		runs = append(runs,
			func() { controller.RunWithContext(processCtx, controllerMetrics()) },
			func() { lifecycle.Run(processCtx, controllerMetrics()) })
	}
	if _, ok := cloud.LoadBalancer(); ok {
		controller, err := servicecontroller.New(observed, client, services, nodes, ClusterName,
			utilfeature.DefaultFeatureGate)
		if err != nil {
			end()
			return nil, fmt.Errorf("service controller: %w", err)
		}
		runs = append(runs, func() { controller.Run(processCtx, serviceWorkers, controllerMetrics()) })
	}
	if routes, ok := observed.Routes(); ok {
		_, cidr, err := net.ParseCIDR(ClusterCIDR)
		if err != nil {
			end()
			return nil, fmt.Errorf("cluster CIDR: %w", err)
		}
		scoped := guard.ScopeRoutes(cloud, nodes, []netip.Prefix{netip.MustParsePrefix(ClusterCIDR)})
		controller, err := routecontroller.New(routes, client, scoped, ClusterName, []*net.IPNet{cidr})
		if err != nil {
			end()
			return nil, fmt.Errorf("route controller: %w", err)
		}
		runs = append(runs, func() { controller.Run(processCtx, tick, controllerMetrics()) })
	}
	for _, run := range runs {
		go run()
	}
	factory.StartWithContext(processCtx)
	factory.WaitForCacheSync(processCtx.Done())
	return m, nil
}

// call returns a context for calls of the provider: it ends with the manager.
func (m *manager) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// results keeps the last error of each kind of call and object, so that Settle can predict retries.
type results struct {
	mu   sync.Mutex
	errs map[string]error
}

func newResults() *results { return &results{errs: map[string]error{}} }

// add records the result of a call and returns its error.
func (r *results) add(call string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || errors.Is(err, cloudprovider.ImplementedElsewhere) {
		delete(r.errs, call)
	} else {
		r.errs[call] = err
	}
	return err
}

// failures returns the errors of the calls that failed last, joined.
func (r *results) failures() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for call, err := range r.errs {
		errs = append(errs, steps.Wrap(call, err))
	}
	return errors.Join(errs...)
}

// observedCloud records the results of the controllers' calls of a provider.
type observedCloud struct {
	cloudprovider.Interface
	*manager
}

func (c observedCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	balancer, ok := c.Interface.LoadBalancer()
	return observedBalancer{balancer, c.manager}, ok
}

func (c observedCloud) Routes() (cloudprovider.Routes, bool) {
	routes, ok := c.Interface.Routes()
	return observedRoutes{routes, c.results}, ok
}

func (c observedCloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	instances, ok := c.Interface.InstancesV2()
	return observedInstances{instances, c.results}, ok
}

// observedBalancer also cancels calls when the manager ends: the framework updates members with a context
// that never ends.
type observedBalancer struct {
	cloudprovider.LoadBalancer
	*manager
}

func (b observedBalancer) EnsureLoadBalancer(
	ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	status, err := b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, svc, nodes)
	return status, b.results.add("Service "+svc.Name, err)
}

func (b observedBalancer) UpdateLoadBalancer(
	ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node,
) error {
	ctx, end := b.call(ctx)
	defer end()
	return b.results.add("Service "+svc.Name, b.LoadBalancer.UpdateLoadBalancer(ctx, cluster, svc, nodes))
}

func (b observedBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, svc *v1.Service) error {
	return b.results.add("Service "+svc.Name, b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, svc))
}

type observedInstances struct {
	cloudprovider.InstancesV2
	results *results
}

func (i observedInstances) InstanceMetadata(
	ctx context.Context, node *v1.Node,
) (*cloudprovider.InstanceMetadata, error) {
	metadata, err := i.InstancesV2.InstanceMetadata(ctx, node)
	return metadata, i.results.add("metadata of node "+node.Name, err)
}

func (i observedInstances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := i.InstancesV2.InstanceExists(ctx, node)
	return exists, i.results.add("existence of node "+node.Name, err)
}

func (i observedInstances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	shutdown, err := i.InstancesV2.InstanceShutdown(ctx, node)
	return shutdown, i.results.add("power state of node "+node.Name, err)
}

type observedRoutes struct {
	cloudprovider.Routes
	results *results
}

func (r observedRoutes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	routes, err := r.Routes.ListRoutes(ctx, cluster)
	return routes, r.results.add("list of routes", err)
}

func (r observedRoutes) CreateRoute(ctx context.Context, cluster, hint string, route *cloudprovider.Route) error {
	return r.results.add("route to "+route.DestinationCIDR, r.Routes.CreateRoute(ctx, cluster, hint, route))
}

func (r observedRoutes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	return r.results.add("route to "+route.DestinationCIDR, r.Routes.DeleteRoute(ctx, cluster, route))
}
