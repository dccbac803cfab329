package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Namespace is the namespace of the scenarios' Services.
const Namespace = metav1.NamespaceDefault

// Session is one running scenario: a cluster, a world, and the expected state of both, which Verify checks.
type Session struct {
	Cluster Cluster
	World   World
	// Capabilities are the subject's. Others are not verified.
	Capabilities provider.Capabilities
	// Disruptions are those of the provider's descriptor: Plan verifies that each change that disrupts more than members
	// is one of them. Without any it does not.
	Disruptions []plan.Effect
	// Attempts is the number of times that Converge settles and checks; 0 means once.
	Attempts int
	// Timeout, if set, bounds the retries of Converge instead: for drivers with a Settle that cannot detect the
	// end of the controllers' work.
	Timeout time.Duration
	// ServiceAnnotations are set on every Service that does not set them itself, for clouds with several kinds
	// of load balancers.
	ServiceAnnotations map[string]string

	// TakeOver is nil where the world cannot be taken over.
	TakeOver *TakeOver
	// faults is set if calls are interrupted.
	faults bool

	machines     map[string]*machine
	foreignNodes map[string]*v1.Node
	services     map[types.NamespacedName]*v1.Service
	baseline     map[string]int
	foreign      []string
	dryRun       bool
	// leaders counts the managers after which another one has led.
	leaders int
	// stepCalls is the number of cloud calls before everything was deleted.
	stepCalls int
}

// machine is a machine of the world and the node it registered.
type machine struct {
	uid types.UID
	// A machine that is terminated and silent must lose its node.
	terminated, silent bool
	cidrs              []string
}

// NewSession returns a session on an empty cluster; the objects that exist in the world now must exist after Clear.
func NewSession(cluster Cluster, world World, capabilities provider.Capabilities) *Session {
	return &Session{
		Cluster: cluster, World: world, Capabilities: capabilities,
		machines: map[string]*machine{}, foreignNodes: map[string]*v1.Node{},
		services: map[types.NamespacedName]*v1.Service{}, baseline: world.Objects(),
	}
}

// Join launches machines and registers their nodes; it assigns pod CIDRs if none are given.
func (r *Session) Join(ctx context.Context, machines ...Machine) error {
	for _, m := range machines {
		if len(m.PodCIDRs) == 0 {
			m.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", len(r.machines)+1)}
		}
		node, err := r.World.Launch(m)
		if err != nil {
			return fmt.Errorf("launching machine %s: %w", m.Name, err)
		}
		if len(node.Spec.PodCIDRs) == 0 {
			node.Spec.PodCIDR, node.Spec.PodCIDRs = m.PodCIDRs[0], m.PodCIDRs
		}
		if err := r.Cluster.AddNode(ctx, node); err != nil {
			return fmt.Errorf("registering node %s: %w", m.Name, err)
		}
		registered, err := r.node(ctx, m.Name)
		if err != nil {
			return steps.Wrap("after its registration", err)
		}
		r.machines[m.Name] = &machine{uid: registered.UID, cidrs: node.Spec.PodCIDRs}
	}
	return nil
}

// JoinN launches n machines: node-1, node-2, …
func (r *Session) JoinN(ctx context.Context, n int) error {
	for range n {
		if err := r.Join(ctx, Machine{Name: fmt.Sprintf("node-%d", len(r.machines)+1)}); err != nil {
			return err
		}
	}
	return nil
}

// AddForeignNode registers a node without a machine in the world; with a provider ID of another cloud it is a foreign
// node, with none an unknown one.
func (r *Session) AddForeignNode(ctx context.Context, name, providerID string) error {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: providerID}}
	if err := r.Cluster.AddNode(ctx, node); err != nil {
		return fmt.Errorf("registering node %s: %w", name, err)
	}
	registered, err := r.node(ctx, name)
	if err != nil {
		return steps.Wrap("after its registration", err)
	}
	r.foreignNodes[name] = registered
	return nil
}

// node returns a node, or an error if it does not exist.
func (r *Session) node(ctx context.Context, name string) (*v1.Node, error) {
	node, err := r.Cluster.Node(ctx, name)
	if err == nil && node == nil {
		err = fmt.Errorf("node %s does not exist", name)
	}
	return node, err
}

// service returns a Service, or an error if it does not exist.
func (r *Session) service(ctx context.Context, key types.NamespacedName) (*v1.Service, error) {
	svc, err := r.Cluster.Service(ctx, key.Namespace, key.Name)
	if err == nil && svc == nil {
		err = fmt.Errorf("service %s does not exist", key)
	}
	return svc, err
}

// Terminate terminates a machine and, if silent, stops its kubelet's heartbeat.
func (r *Session) Terminate(ctx context.Context, name string, silent bool) error {
	if err := r.World.Terminate(name); err != nil {
		return err
	}
	r.machines[name].terminated = true
	if !silent {
		return nil
	}
	return r.Silence(ctx, name)
}

// Silence ends a node's heartbeat: its Ready condition becomes Unknown.
func (r *Session) Silence(ctx context.Context, name string) error {
	if m := r.machines[name]; m != nil {
		m.silent = true
	}
	return r.Cluster.SetReady(ctx, name, false)
}

// Put creates or updates a Service.
func (r *Session) Put(ctx context.Context, svc *v1.Service) error {
	svc = svc.DeepCopy()
	for key, value := range r.ServiceAnnotations {
		if _, set := svc.Annotations[key]; !set {
			metav1.SetMetaDataAnnotation(&svc.ObjectMeta, key, value)
		}
	}
	r.services[keyOf(svc)] = svc.DeepCopy()
	return r.Cluster.PutService(ctx, svc)
}

// Delete deletes Services of the scenarios' namespace.
func (r *Session) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		delete(r.services, types.NamespacedName{Namespace: Namespace, Name: name})
		if err := r.Cluster.DeleteService(ctx, Namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// discover adds what discovery may prefer to what is in use. It stays when everything is deleted.
func (r *Session) discover() error {
	if r.TakeOver.Discover == nil {
		return nil
	}
	before := r.World.Objects()
	if err := r.TakeOver.Discover(r.World); err != nil {
		return err
	}
	r.keep(before)
	return nil
}

// keep makes what was added since before part of what must exist after Clear.
func (r *Session) keep(before map[string]int) {
	for kind, n := range r.World.Objects() {
		r.baseline[kind] += n - before[kind]
	}
}

// AddForeignRoute adds a route that is not ours and must never be changed.
func (r *Session) AddForeignRoute(destination string) error {
	before := r.World.Objects()
	if err := r.World.AddForeignRoute(destination); err != nil {
		return err
	}
	r.keep(before)
	r.foreign = append(r.foreign, destination)
	return nil
}

// Restart replaces the manager by a new one with empty caches.
func (r *Session) Restart(ctx context.Context, o ManagerOptions) error {
	r.dryRun = o.DryRun
	if r.leaders > 0 {
		o.LeadingSince = strconv.Itoa(r.leaders)
	}
	return r.Cluster.Restart(ctx, o)
}

// Check is a condition that must hold once the controllers have no more work.
type Check func(ctx context.Context) error

// Settled settles and checks, without verifying the world.
func (r *Session) Settled(ctx context.Context, checks ...Check) error {
	deadline := time.Now().Add(r.Timeout)
	for attempt := 1; ; attempt++ {
		settleErr := r.Cluster.Settle(ctx)
		if errors.Is(settleErr, ErrUnsettled) {
			return settleErr
		}
		var errs []error
		for _, check := range checks {
			errs = append(errs, check(ctx))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || (attempt >= r.Attempts && !time.Now().Before(deadline)) {
			return errors.Join(err, steps.Wrap("the last errors of the controllers", settleErr))
		}
	}
}

// Plan returns the manager's plan for a Service. It retries if a call to the cloud fails.
func (r *Session) Plan(ctx context.Context, name string) (plan.Plan, error) {
	for attempt := 1; ; attempt++ {
		p, err := r.Cluster.Plan(ctx, Namespace, name)
		if err == nil {
			return p, r.verifyDeclared(p)
		}
		if attempt >= max(r.Attempts, 1) {
			return p, err
		}
	}
}

// verifyDeclared checks that the provider's descriptor, and so its guide, lists the disruptive changes of a plan.
func (r *Session) verifyDeclared(p plan.Plan) error {
	for _, d := range p.Differences() {
		covers := func(e plan.Effect) bool { return e.Covers(d) }
		if r.Disruptions != nil && !slices.ContainsFunc(r.Disruptions, covers) {
			return fmt.Errorf("the descriptor does not declare that %s disrupts %s", d, d.Disrupts)
		}
	}
	return nil
}

// Balancer returns the one load balancer with the addresses in the Service's status.
func (r *Session) Balancer(ctx context.Context, name string) (LoadBalancer, error) {
	return r.balancer(ctx, types.NamespacedName{Namespace: Namespace, Name: name})
}

func (r *Session) balancer(ctx context.Context, key types.NamespacedName) (LoadBalancer, error) {
	svc, err := r.service(ctx, key)
	if err != nil {
		return LoadBalancer{}, err
	}
	addresses := statusAddresses(svc)
	if len(addresses) == 0 {
		return LoadBalancer{}, fmt.Errorf("service %s has no address in its status", key)
	}
	var found []LoadBalancer
	for _, lb := range r.World.LoadBalancers() {
		if slices.Equal(compare.Sorted(lb.Addresses), addresses) {
			found = append(found, lb)
		}
	}
	if len(found) != 1 {
		return LoadBalancer{}, fmt.Errorf("service %s shows %s: %d load balancers have these addresses, want 1 (the world "+
			"has %s)",
			key, strings.Join(addresses, ", "), len(found), compare.Describe(r.World.LoadBalancers()))
	}
	return found[0], nil
}

// Unchanged returns a check that no mutating call was made, and no object was created or deleted, since now.
func (r *Session) Unchanged() Check {
	log, objects := r.World.Front().Log(), r.World.Objects()
	last := 0
	for _, call := range log.Calls() {
		last = max(last, call.Seq)
	}
	return func(context.Context) error {
		var names []string
		for _, call := range log.Mutations() {
			if call.Seq > last {
				names = append(names, call.Name)
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("%d mutating calls where none was needed: %s", len(names), strings.Join(names, ", "))
		}
		return compare.Counts(objects, r.World.Objects())
	}
}

func compareKeys(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }

func statusAddresses(svc *v1.Service) []string {
	var out []string
	for _, in := range svc.Status.LoadBalancer.Ingress {
		out = append(out, cmp.Or(in.IP, in.Hostname))
	}
	return compare.Sorted(out)
}
