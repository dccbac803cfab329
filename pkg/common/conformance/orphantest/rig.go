package orphantest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/memapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Options describe a provider to Run.
type Options struct {
	// Volatile are prefixes of the names of fields that change with every update of an object, or with time. Shared are
	// prefixes of fields of shared objects, such as nodes, that orphans add to: they are compared only after all orphans
	// are deleted.
	Volatile, Shared []string
	// Lists are the operations that list the inventory, each with the kinds that cannot be listed without it.
	Lists map[string][]string
	// Restrict makes the cloud reject an operation as it does for credentials that are limited to certain requests, if
	// that differs from a denied call. An empty name removes the restriction. It is nil if the cloud has no such
	// credentials.
	Restrict func(world conformance.World, operation string)
	// MaxLists is the maximum number of calls of Lists in one inventory.
	MaxLists int
	// ServicesPerCall is the number of Services for which an inventory without parts may make another call, where the
	// cloud cannot list what it needs; 0 if it can.
	ServicesPerCall int
	// Unproven are the kinds of objects without a mark: only the objects that use them identify their cluster. Those of
	// another cluster are unidentified. Those of this cluster may become unidentified when a deletion is interrupted, and
	// are then not deleted.
	Unproven []string
	// LeftByHand are the kinds of objects that stay, as unidentified, after their load balancer was deleted by hand.
	LeftByHand []string
	// LateKinds are the kinds that the cloud still reports as in use for a while after the objects that use them are
	// deleted: a second run deletes them.
	LateKinds []string
	// RefusesSameService is set if the provider refuses a Service with the namespace and name of one in another cluster of
	// the same name.
	RefusesSameService bool
	// OrphanedRoutes is set if the mark of routes proves their cluster.
	OrphanedRoutes bool
}

// The UIDs of the cluster, and of another cluster of the same name.
const (
	clusterUID = "c0ffee00-0000-4000-8000-000000000001"
	otherUID   = "decade00-0000-4000-8000-000000000002"
)

// rig is a world with orphans.
type rig struct {
	ctx     context.Context
	world   conformance.World
	start   conformance.Manager
	options Options
	subject conformance.Subject
	// ours and theirs are the API servers of this cluster and of the other one.
	ours, theirs *fake.Clientset
	// nodes are those of this cluster, otherNodes that of the other one.
	nodes, otherNodes []*v1.Node
	// before is the world without the orphans; beforeShared omits the shared fields.
	before, beforeShared map[string]string
	// measured is the number of Services for the cost.
	measured int
	// created counts Services.
	created int
}

// withOrphans runs a function in a world with a Service, another cluster's Services, and orphans.
func withOrphans(t *testing.T, subject conformance.Subject, options Options, f func(*rig) error) error {
	world, start := subject.New(t)
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	defer cancel()
	r := &rig{ctx: ctx, world: world, start: start, options: options, subject: subject,
		ours: clusterWith(clusterUID), theirs: clusterWith(otherUID)}
	if err := r.plant(); err != nil {
		return steps.Wrap("planting orphans", err)
	}
	return f(r)
}

// clusterWith returns the API server of a cluster with that UID.
func clusterWith(uid types.UID) *fake.Clientset {
	return fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid}})
}

// plant creates nodes and Services in both clusters, and then the orphans of deleted Services, with and without their
// load balancers. One of these Services has the name of a Service that exists.
func (r *rig) plant() error {
	ours, end, err := r.manager(r.ours)
	if err != nil {
		return err
	}
	defer end()
	theirs, endTheirs, err := r.manager(r.theirs)
	if err != nil {
		return err
	}
	defer endTheirs()
	if r.nodes, err = r.join(ours, r.ours, "node-1", "node-2"); err != nil {
		return err
	}
	if r.otherNodes, err = r.join(ours, r.theirs, "other-1"); err != nil {
		return err
	}
	time.Sleep(time.Second) // the managers' informers see the nodes
	if err := r.createRoutes(); err != nil {
		return err
	}
	// The other cluster has a Service of the same name, where load balancers can have equal names.
	shared := "theirs-too"
	balancers, _ := ours.LoadBalancer()
	nameOf := func(svc *v1.Service) string {
		return balancers.GetLoadBalancerName(r.ctx, conformance.ClusterName, svc)
	}
	old, recreated := r.service("old"), r.service("old") // two Services of one name, with UIDs of their own
	if !r.options.RefusesSameService && nameOf(old) != nameOf(recreated) {
		shared = "old"
	}
	web := r.service("web", 80)
	err = steps.Run(
		func() error { return r.ensure(ours, r.ours, web) },
		func() error { return r.ensure(theirs, r.theirs, r.service("theirs", 80)) },
		func() error { return r.ensure(theirs, r.theirs, r.service(shared, 80)) },
	)
	if err != nil {
		return err
	}
	time.Sleep(10 * time.Minute) // load balancers become active
	r.before, r.beforeShared = r.dump(), r.dump(r.options.Shared...)
	return steps.Run(
		func() error { return r.ensure(ours, nil, r.service("old", 80, 443)) },
		func() error { return r.ensure(ours, nil, r.service("partly", 80)) },
		func() error { return r.deleteOneLoadBalancer(ours, "partly") },
		func() error { return r.plantRoute(ours) },
	)
}

// manager starts a manager without controllers.
func (r *rig) manager(client clientset.Interface) (cloudprovider.Interface, func(), error) {
	cloud, err := r.start(conformance.ManagerOptions{})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cloud.Initialize(memapi.ClientBuilder{Interface: client}, ctx.Done())
	factory := informers.NewSharedInformerFactory(client, 0)
	if user, ok := cloud.(cloudprovider.InformerUser); ok {
		user.SetInformers(factory)
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	return cloud, cancel, nil
}

// join launches machines and registers their nodes, initialised.
func (r *rig) join(cloud cloudprovider.Interface, client clientset.Interface, names ...string) ([]*v1.Node, error) {
	instances, _ := cloud.InstancesV2()
	var nodes []*v1.Node
	for i, name := range names {
		cidr := fmt.Sprintf("10.244.%d.0/24", i+1)
		node, err := r.world.Launch(conformance.Machine{Name: name, PodCIDRs: []string{cidr}})
		if err != nil {
			return nil, err
		}
		metadata, err := instances.InstanceMetadata(r.ctx, node)
		if err != nil {
			return nil, err
		}
		node.Spec.ProviderID, node.Spec.Taints = metadata.ProviderID, nil
		node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
		node.Status.Addresses = metadata.NodeAddresses
		nodes = append(nodes, node)
		if _, err := client.CoreV1().Nodes().Create(r.ctx, node, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// createRoutes creates the routes of the nodes, in a manager that knows them.
func (r *rig) createRoutes() error {
	cloud, end, err := r.manager(r.ours)
	if err != nil {
		return err
	}
	defer end()
	table, ok := cloud.Routes()
	for _, node := range r.nodes {
		if !ok {
			break
		}
		route := &cloudprovider.Route{TargetNode: types.NodeName(node.Name), DestinationCIDR: node.Spec.PodCIDR}
		if err := table.CreateRoute(r.ctx, conformance.ClusterName, string(node.UID), route); err != nil {
			return err
		}
	}
	return nil
}

// service returns a Service with a UID and node ports of its own.
func (r *rig) service(name string, ports ...int32) *v1.Service {
	r.created++
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: conformance.Namespace, Name: name, UID: uidOf(r.created),
			Annotations: maps.Clone(r.subject.ServiceAnnotations)},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, LoadBalancerSourceRanges: []string{"203.0.113.0/24"},
			IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, SessionAffinity: v1.ServiceAffinityNone,
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
		},
	}
	for i, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprintf("tcp-%d", port), Protocol: v1.ProtocolTCP,
			Port: port, NodePort: int32(30000 + 10*r.created + i)})
	}
	return svc
}

func uidOf(n int) types.UID { return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n)) }

// ensure creates the load balancer of a Service, and the Service unless client is nil.
func (r *rig) ensure(cloud cloudprovider.Interface, client clientset.Interface, svc *v1.Service) error {
	balancers, _ := cloud.LoadBalancer()
	nodes := r.nodes
	if client == clientset.Interface(r.theirs) {
		nodes = r.otherNodes
	}
	for attempt := 1; ; attempt++ {
		status, err := balancers.EnsureLoadBalancer(r.ctx, conformance.ClusterName, svc, nodes)
		switch {
		case err != nil && attempt < 10:
			time.Sleep(time.Minute)
			continue
		case err != nil:
			return steps.Wrap("Service "+svc.Name, err)
		case client == nil:
			return nil
		}
		svc.Status.LoadBalancer, svc.Finalizers = *status, []string{servicehelper.LoadBalancerCleanupFinalizer}
		_, err = client.CoreV1().Services(conformance.Namespace).Create(r.ctx, svc, metav1.CreateOptions{})
		return err
	}
}

// deleteOneLoadBalancer deletes the newest load balancer by hand, which leaves its other objects.
func (r *rig) deleteOneLoadBalancer(cloud cloudprovider.Interface, name string) error {
	svc := r.service(name)
	svc.UID = uidOf(r.created - 1)
	balancers, _ := cloud.LoadBalancer()
	return r.world.DeleteLoadBalancer(balancers.GetLoadBalancerName(r.ctx, conformance.ClusterName, svc))
}

// plantRoute creates a route for a pod CIDR that no node has.
func (r *rig) plantRoute(cloud cloudprovider.Interface) error {
	table, ok := cloud.Routes()
	if !ok || !r.options.OrphanedRoutes {
		return nil
	}
	return table.CreateRoute(r.ctx, conformance.ClusterName, "orphan", &cloudprovider.Route{
		Name: "orphan", TargetNode: types.NodeName(r.nodes[0].Name), DestinationCIDR: "10.244.99.0/24",
	})
}

// audit runs an audit in a new process.
func (r *rig) audit(ctx context.Context) (*orphans.Audit, error) {
	s, err := r.session() //nolint:contextcheck // a process outlives a call
	if err != nil {
		return nil, err
	}
	return orphans.Run(ctx, s)
}

// session starts a process and returns its access to the cluster and the cloud.
func (r *rig) session() (orphans.Session, error) {
	cloud, _, err := r.manager(r.ours)
	if err != nil {
		return orphans.Session{}, err
	}
	services := func(ctx context.Context) ([]*v1.Service, error) {
		list, err := r.ours.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all := make([]*v1.Service, len(list.Items))
		for i := range list.Items {
			all[i] = &list.Items[i]
		}
		return all, nil
	}
	s := orphans.Session{
		Cloud: cloud, Client: r.ours, ClusterName: conformance.ClusterName, ClusterUID: clusterUID,
		Services: services, Now: time.Now, MinAge: loadbalancer.DefaultTimeout, Parts: true,
		Nodes: func(context.Context) ([]*v1.Node, error) { return r.nodes, nil },
		Plan: func(ctx context.Context, services []*v1.Service, nodes []*v1.Node) ([]plan.Plan, []error) {
			balancers, _ := cloud.LoadBalancer()
			plans, errs := make([]plan.Plan, len(services)), make([]error, len(services))
			for i, svc := range services {
				planner, ok := balancers.(loadbalancer.Planner)
				if !ok {
					errs[i] = errors.ErrUnsupported
					continue
				}
				plans[i], errs[i] = planner.PlanLoadBalancer(ctx, conformance.ClusterName, svc, nodes, loadbalancer.PlanOptions{})
			}
			return plans, errs
		},
	}
	if planner, ok := ignoreOK(cloud.Routes()).(routes.Planner); ok {
		ranges := []netip.Prefix{netip.MustParsePrefix(conformance.ClusterCIDR)}
		s.PlanRoutes = func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error) {
			return planner.PlanRoutes(ctx, conformance.ClusterName, nodes, ranges)
		}
	}
	return s, nil
}

func ignoreOK[T any](value T, _ bool) T { return value }

// dump returns every object of the world by kind and ID, with its fields except for those to omit.
func (r *rig) dump(omit ...string) map[string]string {
	objects := map[string]string{}
	for _, o := range r.world.(world.Inventory).Inventory() { //nolint:forcetypeassert // a test
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
			has := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
			if !slices.ContainsFunc(r.options.Volatile, has) && !slices.ContainsFunc(omit, has) {
				fmt.Fprintf(&b, "%s=%s\n", name, o.Fields[name])
			}
		}
		objects[o.Kind+": "+o.ID] = b.String()
	}
	return objects
}
