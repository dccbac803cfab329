// Package controllers runs the controllers of k8s.io/cloud-provider on a provider, in this process, and remembers which
// of their calls failed last.
package controllers

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
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

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/memapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
)

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

// DiscardLogs drops the framework's log lines for the duration of a test: it logs every injected failure.
func DiscardLogs(t testing.TB) {
	t.Helper()
	if err := prepareProcess(); err != nil {
		t.Fatal(err)
	}
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetLogger(logr.Discard())
}

// Options configure the controllers. All are required.
type Options struct {
	// ClusterName and ClusterCIDR are the flags --cluster-name and --cluster-cidr.
	ClusterName, ClusterCIDR string
	// Tick is the period of every controller, StatusPeriod that of the addresses of initialized nodes.
	Tick, StatusPeriod time.Duration
}

// Start starts the controllers of k8s.io/cloud-provider on a provider, and waits for their caches.
func Start(ctx context.Context, server *memapi.Server, cloud cloudprovider.Interface, o Options) (*Manager, error) {
	processCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	m := &Manager{Cloud: cloud, results: newResults(), ctx: processCtx, end: end}
	client := server.Client(processCtx)
	factory := informers.NewSharedInformerFactory(client, o.Tick)
	cloud.Initialize(memapi.ClientBuilder{Interface: client}, processCtx.Done())
	if user, ok := cloud.(cloudprovider.InformerUser); ok {
		user.SetInformers(factory)
	}
	observed := observedCloud{cloud, m}
	var runs []func()
	nodes, services := factory.Core().V1().Nodes(), factory.Core().V1().Services()
	if _, ok := cloud.InstancesV2(); ok {
		controller, err := nodecontroller.NewCloudNodeController(nodes, client, observed,
			o.StatusPeriod, nodeWorkers, nodeWorkers)
		if err != nil {
			end()
			return nil, fmt.Errorf("node controller: %w", err)
		}
		lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, client, observed, o.Tick, nodeWorkers)
		if err != nil {
			end()
			return nil, fmt.Errorf("node lifecycle controller: %w", err)
		}
		runs = append(runs,
			func() { controller.RunWithContext(processCtx, controllerMetrics()) },
			func() { lifecycle.Run(processCtx, controllerMetrics()) })
	}
	if _, ok := cloud.LoadBalancer(); ok {
		controller, err := servicecontroller.New(observed, client, services, nodes, o.ClusterName,
			utilfeature.DefaultFeatureGate)
		if err != nil {
			end()
			return nil, fmt.Errorf("service controller: %w", err)
		}
		runs = append(runs, func() { controller.Run(processCtx, serviceWorkers, controllerMetrics()) })
	}
	if routes, ok := observed.Routes(); ok {
		_, cidr, err := net.ParseCIDR(o.ClusterCIDR)
		if err != nil {
			end()
			return nil, fmt.Errorf("cluster CIDR: %w", err)
		}
		scoped := guard.ScopeRoutes(cloud, nodes, []netip.Prefix{netip.MustParsePrefix(o.ClusterCIDR)})
		controller, err := routecontroller.New(routes, client, scoped, o.ClusterName, []*net.IPNet{cidr})
		if err != nil {
			end()
			return nil, fmt.Errorf("route controller: %w", err)
		}
		runs = append(runs, func() { controller.Run(processCtx, o.Tick, controllerMetrics()) })
	}
	for _, run := range runs {
		go run()
	}
	factory.StartWithContext(processCtx)
	factory.WaitForCacheSync(processCtx.Done())
	return m, nil
}
