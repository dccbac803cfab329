package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Manager starts a manager on a world: the provider, wrapped in the guards as cmd/ccm wraps it,
// with an empty memory. The driver calls Initialize.
type Manager func(o ManagerOptions) (cloudprovider.Interface, error)

const (
	// tick is how far apart two rounds of the controllers are: more than the service controller's
	// resync, the lifecycle controller's period, the age at which snapshots are read again, and
	// the interval between the two answers by which the guards believe that a machine is gone.
	tick = 45 * time.Second
	// quiet is how many rounds nothing may change before the direct driver believes that nothing
	// will: one may be quiet because the guards wait for their second answer, two may not.
	quiet = 2
	// patience is how long the direct driver waits for that.
	patience = 4 * time.Hour
	// lingering is how long the calls of a killed manager get to die, back-offs included, before
	// its successor starts: a dead process retries nothing.
	lingering = 10 * time.Minute
	// rest is longer than any provider puts off what is not urgent.
	rest = 10 * time.Minute
)

// direct is the Cluster that calls a cloudprovider.Interface as the controllers of
// k8s.io/cloud-provider call it. It must be used inside a synctest bubble, because it sleeps
// through the intervals of those controllers.
type direct struct {
	world World
	start Manager
	store *store
	// idle waits until no goroutine can go on without time passing.
	idle func()

	// Each kind of thing is numbered for itself, so that an interruption, which makes more
	// Events, moves no UID and no node port.
	uids, nodePorts, eventNumbers atomic.Int64

	killed  atomic.Bool
	options ManagerOptions

	mu      sync.Mutex // guards manager against the kill fault, which comes from another goroutine
	manager *manager
}

var _ Cluster = (*direct)(nil)

// manager is one life of the manager under test.
type manager struct {
	cloud cloudprovider.Interface
	// life ends when the process is stopped or killed.
	life context.Context
	end  context.CancelFunc

	mu sync.Mutex
	// services are those that the service controller knows, with the nodes of their last sync.
	services map[types.NamespacedName]*knownService
}

type knownService struct {
	dirty bool
	nodes []*v1.Node
}

func newDirect(ctx context.Context, world World, start Manager, idle func()) (*direct, error) {
	store, err := newStore()
	if err != nil {
		return nil, err
	}
	d := &direct{world: world, start: start, store: store, idle: idle}
	world.Front().OnKill(d.kill)
	return d, d.boot(ctx)
}

// boot starts a manager with an empty memory.
func (d *direct) boot(ctx context.Context) error {
	cloud, err := d.start(d.options)
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	m := &manager{cloud: cloud, life: life, end: end, services: map[types.NamespacedName]*knownService{}}
	d.mu.Lock()
	d.manager = m
	d.mu.Unlock()
	cloud.Initialize(clientBuilder{d.store.client}, life.Done())
	if user, ok := cloud.(cloudprovider.InformerUser); ok {
		factory := informers.NewSharedInformerFactory(d.store.client, 0)
		user.SetInformers(factory)
		factory.StartWithContext(life)
		factory.WaitForCacheSync(life.Done())
	}
	services, err := d.store.services(ctx)
	if err != nil {
		return err
	}
	for _, svc := range services {
		m.services[keyOf(svc)] = &knownService{dirty: true}
	}
	return nil
}

// kill is what SIGKILL does: nothing that the process still waits for comes back to it.
func (d *direct) kill() {
	d.killed.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.manager.end()
}

// revive puts a new manager in the place of one that was killed.
func (d *direct) revive(ctx context.Context) error {
	if !d.killed.Load() {
		return nil
	}
	if err := clocks.Sleep(ctx, clock.RealClock{}, lingering); err != nil {
		return err
	}
	d.idle()
	d.world.Front().Revive()
	d.killed.Store(false)
	return d.boot(ctx)
}

// close ends the manager's life and waits until its goroutines are gone.
func (d *direct) close() {
	d.mu.Lock()
	d.manager.end()
	d.mu.Unlock()
	d.idle()
}

// Restart implements Cluster.
func (d *direct) Restart(ctx context.Context, o ManagerOptions) error {
	d.close()
	d.options = o
	if d.killed.Load() {
		return d.revive(ctx)
	}
	return d.boot(ctx)
}

// Rest implements Rester.
func (d *direct) Rest(ctx context.Context) error {
	if err := clocks.Sleep(ctx, clock.RealClock{}, rest); err != nil {
		return err
	}
	d.idle()
	return nil
}

// AddNode implements Cluster.
func (d *direct) AddNode(ctx context.Context, node *v1.Node) error {
	node = node.DeepCopy()
	node.UID = d.uid()
	node.CreationTimestamp = metav1.Now()
	if !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule,
		})
	}
	setCondition(node, v1.NodeReady, v1.ConditionTrue, "KubeletReady")
	return d.store.createNode(ctx, node)
}

// SetReady implements Cluster.
func (d *direct) SetReady(ctx context.Context, nodeName string, ready bool) error {
	node, err := d.store.node(ctx, nodeName)
	if err != nil || node == nil {
		return err
	}
	status, reason := v1.ConditionTrue, "KubeletReady"
	if !ready {
		status, reason = v1.ConditionUnknown, "NodeStatusUnknown"
	}
	setCondition(node, v1.NodeReady, status, reason)
	return d.store.updateNode(ctx, node)
}

// Node implements Cluster.
func (d *direct) Node(ctx context.Context, nodeName string) (*v1.Node, error) {
	return d.store.node(ctx, nodeName)
}

// DeleteNode implements Cluster.
func (d *direct) DeleteNode(ctx context.Context, nodeName string) error {
	return d.store.deleteNode(ctx, nodeName)
}

// Service implements Cluster.
func (d *direct) Service(ctx context.Context, namespace, name string) (*v1.Service, error) {
	return d.store.service(ctx, namespace, name)
}

// PutService implements Cluster.
func (d *direct) PutService(ctx context.Context, svc *v1.Service) error {
	have, err := d.store.service(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return err
	}
	want := svc.DeepCopy()
	d.defaultService(want, have)
	if have == nil {
		want.UID = d.uid()
		want.CreationTimestamp = metav1.Now()
		err = d.store.createService(ctx, want)
	} else {
		want.ObjectMeta = *have.ObjectMeta.DeepCopy()
		want.Annotations, want.Labels, want.Status = svc.Annotations, svc.Labels, have.Status
		if reflect.DeepEqual(want.Spec, have.Spec) && reflect.DeepEqual(want.Annotations, have.Annotations) {
			return nil
		}
		err = d.store.updateService(ctx, want)
	}
	d.manager.touch(keyOf(want))
	return err
}

// defaultService fills in what the API server would.
func (d *direct) defaultService(svc, have *v1.Service) {
	if svc.Spec.Type == "" {
		svc.Spec.Type = v1.ServiceTypeClusterIP
	}
	if len(svc.Spec.IPFamilies) == 0 {
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	if svc.Spec.SessionAffinity == "" {
		svc.Spec.SessionAffinity = v1.ServiceAffinityNone
	}
	if svc.Spec.Type != v1.ServiceTypeLoadBalancer {
		return
	}
	if svc.Spec.ExternalTrafficPolicy == "" {
		svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = v1.ProtocolTCP
		}
		if p.NodePort == 0 {
			p.NodePort = nodePortOf(have, *p)
		}
		if p.NodePort == 0 {
			p.NodePort = samePort(svc.Spec.Ports[:i], *p)
		}
		if p.NodePort == 0 {
			p.NodePort = 30000 + int32(d.nodePorts.Add(1)) // counts from 1 in every run: small
		}
	}
}

// nodePortOf returns the node port that the Service already has for p, because the API server
// keeps it over updates.
func nodePortOf(svc *v1.Service, p v1.ServicePort) int32 {
	if svc == nil {
		return 0
	}
	i := slices.IndexFunc(svc.Spec.Ports, func(q v1.ServicePort) bool {
		return q.Port == p.Port && (q.Protocol == p.Protocol || p.Protocol == "")
	})
	if i < 0 {
		return 0
	}
	return svc.Spec.Ports[i].NodePort
}

// samePort returns the node port of an earlier port of the same number and another protocol, because
// the API server gives both the same.
func samePort(earlier []v1.ServicePort, p v1.ServicePort) int32 {
	for _, q := range earlier {
		if q.Port == p.Port && q.Protocol != p.Protocol {
			return q.NodePort
		}
	}
	return 0
}

// DeleteService implements Cluster.
func (d *direct) DeleteService(ctx context.Context, namespace, name string) error {
	svc, err := d.store.service(ctx, namespace, name)
	if err != nil || svc == nil {
		return err
	}
	now := metav1.Now()
	svc.DeletionTimestamp = &now
	d.manager.touch(keyOf(svc))
	return d.store.updateService(ctx, svc)
}

// Events implements Cluster.
func (d *direct) Events(ctx context.Context, kind, namespace, name string) ([]string, error) {
	d.idle() // Events are recorded by goroutines of their own.
	return d.store.events(ctx, kind, namespace, name)
}

// Plan implements Cluster.
func (d *direct) Plan(ctx context.Context, namespace, name string) (plan.Plan, error) {
	if err := d.revive(ctx); err != nil {
		return plan.Plan{}, err
	}
	svc, err := d.store.service(ctx, namespace, name)
	if err != nil {
		return plan.Plan{}, err
	}
	if svc == nil {
		return plan.Plan{}, fmt.Errorf("service %s/%s does not exist", namespace, name)
	}
	nodes, err := d.store.nodes(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	d.idle()
	balancer, ok := d.manager.cloud.LoadBalancer()
	if !ok {
		return plan.Plan{}, errors.New("the provider has no load balancers")
	}
	planner, ok := balancer.(loadbalancer.Planner)
	if !ok {
		return plan.Plan{}, fmt.Errorf("%T does not implement loadbalancer.Planner", balancer)
	}
	call, end := d.manager.call(ctx)
	defer end()
	return planner.PlanLoadBalancer(call, ClusterName, svc, loadbalancer.TrafficNodes(nodes), !loadbalancer.Wanted(svc))
}

// Settle implements Cluster: rounds of all controllers, tick apart, until nothing has changed for
// quiet of them.
func (d *direct) Settle(ctx context.Context) error {
	var said error
	// The first round may be answered by what was read just before the world changed.
	calm := -1
	for waited := time.Duration(0); waited < patience; waited += tick {
		if err := d.revive(ctx); err != nil {
			return err
		}
		before, mutations := d.store.writes.Load(), len(d.world.Front().Log().Mutations())
		err := d.round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		said = err
		changed := d.killed.Load() || d.store.writes.Load() != before || len(d.world.Front().Log().Mutations()) != mutations
		calm++
		if changed {
			calm = 0
		}
		if calm >= quiet {
			return err
		}
		if err := clocks.Sleep(ctx, clock.RealClock{}, tick); err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("%w: the controllers still change things after %s", ErrUnsettled, patience), prefixed("they last said", said))
}

// round runs every controller once, in the order in which a joining node needs them. The
// objects within one controller are handled side by side, as its workers do. Load balancers learn
// of joined nodes at the worst moment that the framework allows: between the two writes of a
// node's initialisation, when it has a provider ID and no addresses.
func (d *direct) round(ctx context.Context) error {
	m := d.manager
	ctx, end := m.call(ctx)
	defer end()
	d.idle() // Informers see what was written since.
	var errs []error
	for _, controller := range []func(context.Context, *manager) error{
		d.initialiseNodes, d.syncNodes, d.refreshNodes, d.monitorNodes, d.syncServices, d.syncNodes, d.syncRoutes,
	} {
		if m.life.Err() != nil {
			break
		}
		errs = append(errs, controller(ctx, m))
	}
	return errors.Join(errs...)
}

// call returns a context for calls into the provider: it ends with the manager's life.
func (m *manager) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// touch is the informer event of a Service.
func (m *manager) touch(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.services[key] == nil {
		m.services[key] = &knownService{}
	}
	m.services[key].dirty = true
}

// uid makes UIDs that differ at their front, because names of load balancers may cut their end off.
func (d *direct) uid() types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", d.uids.Add(1)))
}

func keyOf(svc *v1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

func needsCleanup(svc *v1.Service) bool {
	return servicehelper.HasLBFinalizer(svc) && (svc.DeletionTimestamp != nil || svc.Spec.Type != v1.ServiceTypeLoadBalancer)
}

// sideBySide runs work for every item at once and joins the errors.
func sideBySide[T any](items []T, work func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = work(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
