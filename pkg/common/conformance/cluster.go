package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/memapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Manager starts a manager on a world: the provider, wrapped in the guards as cmd/ccm wraps it, with empty
// caches. The driver calls Initialize.
type Manager func(o ManagerOptions) (cloudprovider.Interface, error)

const (
	// tick is the period of every controller: longer than the max age of snapshots, and than the interval
	// between the two answers after which the guards count a machine as deleted.
	tick = 45 * time.Second
	// statusPeriod is the framework's default: the interval at which the addresses of initialised nodes are compared.
	statusPeriod = 5 * time.Minute
	// quietTicks is the number of ticks without a change that end Settle: during one, the guards may wait for
	// their second answer.
	quietTicks = 2
	// quietFailingTicks is the same if a call failed last: more than the service controller's longest backoff, 5 minutes.
	quietFailingTicks = 8
	// settleTimeout is the timeout of Settle.
	settleTimeout = 4 * time.Hour
	// killDelay is the time that the calls of a killed manager have to end, with their backoff, before its
	// successor starts: a dead process retries nothing.
	killDelay = 10 * time.Minute
	// idleDelay is longer than any provider defers low-priority work.
	idleDelay = 10 * time.Minute
)

// inProcess is a Cluster in this process: the framework's controllers and the provider over an API
// server in memory. It must be used inside a synctest bubble: its delays need the clock of one.
type inProcess struct {
	world  World
	start  Manager
	server *memapi.Server
	client clientset.Interface
	// idle waits until no goroutine can continue without time passing.
	idle func()

	killed  atomic.Bool
	options ManagerOptions

	mu      sync.Mutex // protects manager from the kill fault, which comes from another goroutine
	manager *controllers.Manager
}

var _ Cluster = (*inProcess)(nil)

func newInProcess(ctx context.Context, world World, start Manager, idle func()) (*inProcess, error) {
	server, err := memapi.New()
	if err != nil {
		return nil, err
	}
	c := &inProcess{world: world, start: start, server: server, idle: idle, client: server.Client(ctx)}
	world.Front().OnKill(c.kill)
	return c, c.boot(ctx)
}

// boot starts a manager with empty caches.
func (c *inProcess) boot(ctx context.Context) error {
	cloud, err := c.start(c.options)
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	m, err := controllers.Start(ctx, c.server, cloud, controllers.Options{
		ClusterName: ClusterName, ClusterCIDR: ClusterCIDR, Tick: tick, StatusPeriod: statusPeriod,
	})
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	c.mu.Lock()
	c.manager = m
	if c.killed.Load() { // by a call of its controllers in the meantime
		m.End()
	}
	c.mu.Unlock()
	c.idle() // A watch starts after its list: informers would never see a write in between.
	return nil
}

// kill has the effect of SIGKILL: no more responses reach the process.
func (c *inProcess) kill() {
	c.killed.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manager != nil {
		c.manager.End()
	}
}

// revive replaces a killed manager.
func (c *inProcess) revive(ctx context.Context) error {
	if !c.killed.Load() {
		return nil
	}
	if err := clocks.Sleep(ctx, clock.RealClock{}, killDelay); err != nil {
		return err
	}
	c.idle()
	c.world.Front().Revive()
	c.killed.Store(false)
	return c.boot(ctx)
}

// close stops the manager and waits until its goroutines end.
func (c *inProcess) close() {
	c.mu.Lock()
	c.manager.End()
	c.mu.Unlock()
	c.idle()
}

// end stops the manager at the end of a scenario. The framework retries some writes without a context: no goroutine may
// remain in the bubble.
func (c *inProcess) end() {
	c.close()
	time.Sleep(killDelay)
	c.idle()
}

// Restart implements Cluster.
func (c *inProcess) Restart(ctx context.Context, o ManagerOptions) error {
	c.close()
	c.options = o
	if c.killed.Load() {
		return c.revive(ctx)
	}
	return c.boot(ctx)
}

// SkipTime implements TimeSkipper.
func (c *inProcess) SkipTime(ctx context.Context, d time.Duration) error {
	if err := clocks.Sleep(ctx, clock.RealClock{}, d); err != nil {
		return err
	}
	c.idle()
	return nil
}

// AddNode implements Cluster.
func (c *inProcess) AddNode(ctx context.Context, node *v1.Node) error {
	node = node.DeepCopy()
	if !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule,
		})
	}
	setReady(node, true)
	_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

// SetReady implements Cluster.
func (c *inProcess) SetReady(ctx context.Context, nodeName string, ready bool) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := c.Node(ctx, nodeName)
		if err != nil || node == nil {
			return err
		}
		setReady(node, ready)
		_, err = c.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// SetAddresses implements Cluster.
func (c *inProcess) SetAddresses(ctx context.Context, nodeName string, addresses []v1.NodeAddress) error {
	return SetAddresses(ctx, c.client, nodeName, addresses)
}

// SetAddresses replaces the addresses in the status of a node, as its kubelet can.
func SetAddresses(
	ctx context.Context, client clientset.Interface, nodeName string, addresses []v1.NodeAddress,
) error {
	nodes := client.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.Addresses = addresses
		_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// setReady sets a node's Ready condition, as its kubelet or, once that is silent, the node lifecycle
// controller of kube-controller-manager does.
func setReady(node *v1.Node, ready bool) {
	condition := v1.NodeCondition{
		Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now(),
	}
	if !ready {
		condition.Status, condition.Reason = v1.ConditionUnknown, "NodeStatusUnknown"
	}
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == v1.NodeReady {
			node.Status.Conditions[i] = condition
			return
		}
	}
	node.Status.Conditions = append(node.Status.Conditions, condition)
}

// Node implements Cluster.
func (c *inProcess) Node(ctx context.Context, nodeName string) (*v1.Node, error) {
	node, err := c.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	return nilIfNotFound(node, err)
}

// DeleteNode implements Cluster. The manager may have deleted it before.
func (c *inProcess) DeleteNode(ctx context.Context, nodeName string) error {
	return ignoreNotFound(c.client.CoreV1().Nodes().Delete(ctx, nodeName, metav1.DeleteOptions{}))
}

// Service implements Cluster.
func (c *inProcess) Service(ctx context.Context, namespace, name string) (*v1.Service, error) {
	svc, err := c.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	return nilIfNotFound(svc, err)
}

// PutService implements Cluster.
func (c *inProcess) PutService(ctx context.Context, svc *v1.Service) error {
	services := c.client.CoreV1().Services(svc.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have, err := c.Service(ctx, svc.Namespace, svc.Name)
		if err != nil {
			return err
		}
		if have == nil {
			_, err = services.Create(ctx, svc.DeepCopy(), metav1.CreateOptions{})
			return err
		}
		have.Annotations, have.Labels = svc.Annotations, svc.Labels
		have.Spec = *svc.Spec.DeepCopy()
		_, err = services.Update(ctx, have, metav1.UpdateOptions{})
		return err
	})
}

// DeleteService implements Cluster.
func (c *inProcess) DeleteService(ctx context.Context, namespace, name string) error {
	return ignoreNotFound(c.client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{}))
}

// SetServiceStatus implements Cluster.
func (c *inProcess) SetServiceStatus(ctx context.Context, namespace, name string, status v1.ServiceStatus) error {
	return SetServiceStatus(ctx, c.client, namespace, name, status)
}

// SetServiceStatus writes the status of a Service, as a manager does.
func SetServiceStatus(
	ctx context.Context, client clientset.Interface, namespace, name string, status v1.ServiceStatus,
) error {
	services := client.CoreV1().Services(namespace)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		svc, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		svc.Status = status
		_, err = services.UpdateStatus(ctx, svc, metav1.UpdateOptions{})
		return err
	})
}

// Events implements Cluster. Both Event APIs count.
func (c *inProcess) Events(ctx context.Context, kind, namespace, name string) ([]string, error) {
	c.idle() // Separate goroutines record Events.
	about := func(ref v1.ObjectReference) bool {
		return ref.Kind == kind && ref.Namespace == namespace && ref.Name == name
	}
	var out []string
	core, err := c.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, e := range core.Items {
		if about(e.InvolvedObject) {
			out = append(out, e.Reason+": "+e.Message)
		}
	}
	eventsV1, err := c.client.EventsV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, e := range eventsV1.Items {
		if about(e.Regarding) {
			out = append(out, e.Reason+": "+e.Note)
		}
	}
	return out, nil
}

// Plan implements Cluster.
func (c *inProcess) Plan(ctx context.Context, namespace, name string) (plan.Plan, error) {
	if err := c.revive(ctx); err != nil {
		return plan.Plan{}, err
	}
	svc, err := c.Service(ctx, namespace, name)
	if err != nil {
		return plan.Plan{}, err
	}
	if svc == nil {
		return plan.Plan{}, fmt.Errorf("service %s/%s does not exist", namespace, name)
	}
	list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return plan.Plan{}, err
	}
	var nodes []*v1.Node
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	c.idle()
	balancer, ok := c.manager.Cloud.LoadBalancer()
	if !ok {
		return plan.Plan{}, errors.New("the provider has no load balancers")
	}
	planner, ok := balancer.(loadbalancer.Planner)
	if !ok {
		return plan.Plan{}, fmt.Errorf("%T does not implement loadbalancer.Planner", balancer)
	}
	call, end := c.manager.Call(ctx)
	defer end()
	return planner.PlanLoadBalancer(call, ClusterName, svc, nodes,
		loadbalancer.PlanOptions{Remove: !loadbalancer.WantsLoadBalancer(svc)})
}

// Settle implements Cluster: it waits until the controllers stop changing anything.
func (c *inProcess) Settle(ctx context.Context) error {
	var failures error
	// The first tick may use a read from just before the world changed.
	quiet := -1
	for waited := time.Duration(0); waited < settleTimeout; waited += tick {
		if err := c.revive(ctx); err != nil {
			return err
		}
		writes, mutations := c.server.Writes(), len(c.world.Front().Log().Mutations())
		if err := clocks.Sleep(ctx, clock.RealClock{}, tick); err != nil {
			return err
		}
		c.idle()
		failures = c.manager.Failures()
		quiet++
		if c.killed.Load() || c.server.Writes() != writes || len(c.world.Front().Log().Mutations()) != mutations {
			quiet = 0
		}
		if quiet >= quietFailingTicks || (quiet >= quietTicks && failures == nil) {
			return failures
		}
	}
	return errors.Join(fmt.Errorf("%w: the controllers still make changes after %s", ErrUnsettled, settleTimeout),
		steps.Wrap("the last failures", failures))
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

func keyOf(svc *v1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// nilIfNotFound returns nil instead of an object that does not exist.
func nilIfNotFound[T runtime.Object](object T, err error) (T, error) {
	if err != nil {
		var none T
		return none, ignoreNotFound(err)
	}
	return object, nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
