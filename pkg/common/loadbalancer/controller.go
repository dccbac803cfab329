package loadbalancer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// DefaultTimeout bounds one call of Ensure, Update or EnsureDeleted. It is longer than the slowest
// cloud needs to bring up a load balancer (virtual machines that boot, about 10 minutes), and it
// is there because the framework calls Update with a context that never ends: a hung wait must
// not keep its worker for ever.
const DefaultTimeout = 15 * time.Minute

// DefaultRetryAfter is how soon the framework asks again for a load balancer that is complete
// and has no address yet. One read every 10 seconds is cheap, and exponential backoff would leave
// a Service without an address for up to 5 minutes after the cloud has assigned it.
const DefaultRetryAfter = 10 * time.Second

// Options are what every cloud gives to New. Provider is required.
type Options struct {
	// Provider is the cloud's name, for texts and metric labels.
	Provider string
	// Vocabulary lists the annotations that the cloud reads.
	Vocabulary intent.Vocabulary
	// OwnsNode classifies nodes; only Mine become targets. Nil makes every node a target.
	OwnsNode func(*v1.Node) provider.Ownership
	// NodeAddresses is asked about nodes whose status has no addresses yet, and returns what the
	// cloud knows; cloudprovider.InstanceNotFound for a node whose instance does not exist. Clouds
	// that send traffic to addresses need it: the framework syncs load balancers when a node gets
	// its provider ID, writes the addresses after that, and then does not sync again. Nil for
	// clouds that send traffic to instances.
	NodeAddresses func(context.Context, *v1.Node) ([]v1.NodeAddress, error)
	// Nodes lists the nodes as they are once a call has the lock of its load balancer; nil for the nodes that
	// the call was given.
	Nodes *nodes.LazyLister
	// Parallel bounds the mutations of one plan that run at once; 0 means plan.DefaultParallel.
	Parallel int
	// Timeout bounds one call; 0 means DefaultTimeout.
	Timeout time.Duration
	// RetryAfter is the pause before a load balancer without an address is looked at again; 0
	// means DefaultRetryAfter.
	RetryAfter time.Duration
	// Observer hears of every step of every change that is applied, beside the metrics. It may be called from several
	// goroutines at once. May be nil.
	Observer func(change plan.Change, status plan.Status, err error)
	// DeferRecords writes the applied records that follow from changed members in batches, by Run, instead of with
	// each change.
	DeferRecords bool
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Controller implements cloudprovider.LoadBalancer for one cloud. It is safe for concurrent use;
// calls for one Service queue up behind each other, calls for different Services don't.
type Controller[S, D, O any] struct {
	options Options
	cloud   Cloud[S, D, O]
	runtime atomic.Pointer[provider.Runtime]
	locks   locks.KeyedMutex
	sent    *events.Deduplicator
	missing *keySet
	created creations
	due     dueRecords[O]
	// ensured has the Service of each key's last Ensure, because Update may be given an older one; see latest.
	ensured sync.Map
	// valid has the settings of each UID whose load balancer was ensured last; see selecting.
	valid sync.Map
	// baselines are used where no record is stored.
	baselines baselines
}

var (
	_ Interface            = (*Controller[any, any, any])(nil)
	_ provider.RuntimeUser = (*Controller[any, any, any])(nil)
)

// New returns the load balancer interface of one cloud.
func New[S, D, O any](o Options, cloud Cloud[S, D, O]) *Controller[S, D, O] {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = DefaultRetryAfter
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Vocabulary.Provider == "" {
		o.Vocabulary.Provider = o.Provider
	}
	o.Vocabulary.ForeignPrefixes = provider.ForeignPrefixes(o.Provider)
	process().set.Register()
	return &Controller[S, D, O]{options: o, cloud: cloud, sent: events.NewDeduplicator(), missing: newKeySet()}
}

// SetRuntime implements provider.RuntimeUser. Before it is called, Events go nowhere and the
// cluster's UID is unknown.
func (c *Controller[S, D, O]) SetRuntime(r provider.Runtime) { c.runtime.Store(&r) }

// GetLoadBalancerName implements cloudprovider.LoadBalancer. It makes no call.
func (c *Controller[S, D, O]) GetLoadBalancerName(_ context.Context, clusterName string, service *v1.Service) string {
	return c.cloud.Name(c.key(clusterName, service))
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. A load balancer "exists" as long as
// anything of it does, orphans without a load balancer included: on false, the framework removes the
// Service's finalizer, and nothing would ever remove the orphans.
//
// It takes no lock, because it changes nothing and must not queue behind a creation.
func (c *Controller[S, D, O]) GetLoadBalancer(ctx context.Context, clusterName string,
	service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	key := c.key(clusterName, service)
	if c.missing.take(lockName(key)) {
		return nil, false, c.missingError(key)
	}
	have, removal, err := c.removal(ctx, key, service)
	if err != nil {
		return nil, false, err
	}
	in, _, _ := intent.Read(service, c.options.Vocabulary)
	return c.cloud.Status(in, have).LoadBalancer, !removal.Empty(), nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer: it makes the cloud hold what the
// Service and the nodes ask for, and returns once that is so. When it already does, no mutating
// call is made.
//
// Errors: class cloudapi.Invalid names every problem of the Service; a refusal of the provider
// names what cannot be done; other classes come from the cloud. An api.RetryError is in the chain
// where the cloud said when to come back, or where only an address is still missing and will come.
func (c *Controller[S, D, O]) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	if !c.handles(service) {
		return nil, cloudprovider.ImplementedElsewhere
	}
	key := c.key(clusterName, service)
	leave := c.created.enter(lockName(key))
	defer leave()
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	c.missing.take(lockName(key))
	nodes = c.current(c.created.newest(lockName(key), nodes))
	c.ensured.Store(lockName(key), service)

	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return nil, c.keptMembers(ctx, t, service, nodes, err)
	}
	have, todo, err := c.compare(ctx, t)
	if err != nil {
		return nil, c.keptMembers(ctx, t, service, nodes, err)
	}
	c.recordPlanWarnings(service, todo)
	todo = c.withRecord(t, have, todo)
	if !todo.Empty() {
		if err := c.apply(ctx, service, todo); err != nil {
			return nil, err
		}
		if have, err = c.settled(ctx, t); err != nil {
			return nil, err
		}
	}
	c.created.finish(lockName(key))
	c.deferRecord(t, have, todo)
	c.rebase(t, have, todo)
	c.valid.Store(key.UID, t.in)
	status := c.cloud.Status(t.in, have)
	c.annotate(ctx, service, status.Annotations)
	if status.LoadBalancer == nil || len(status.LoadBalancer.Ingress) == 0 {
		return nil, c.noAddressError(key, status.Failure)
	}
	return status.LoadBalancer, nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer: it applies the changes that only
// concern which nodes receive traffic. When more is needed before that can be done, or when the
// load balancer is gone, it returns an error, upon which the framework calls Ensure.
func (c *Controller[S, D, O]) UpdateLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) error {
	if !c.handles(service) {
		return cloudprovider.ImplementedElsewhere
	}
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer release()

	service, nodes = c.latest(key, service), c.current(nodes)
	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return c.followNodes(ctx, t, service, nodes, err)
	}
	return c.updateMembers(ctx, t, service, nodes)
}

// latest returns the Service that was ensured last in place of one that Update was given. When a node and a
// Service change at the same time, the framework may call Ensure with the new Service and after that Update
// with the old one: a listener that Ensure has just created would then lack the node, and no retry follows.
func (c *Controller[S, D, O]) latest(key Key, service *v1.Service) *v1.Service {
	last, ok := c.ensured.Load(lockName(key))
	if !ok {
		return service
	}
	if ensured, ok := last.(*v1.Service); ok && ensured.UID == service.UID {
		return ensured
	}
	return service
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. It needs nothing of the Service
// but its identity, so that a Service whose annotations are wrong can be deleted, and it removes
// orphans when the load balancer itself was deleted already.
func (c *Controller[S, D, O]) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string,
	service *v1.Service) error {
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer release()

	t := c.nothing(key, service)
	_, todo, err := c.confirmed(ctx, t)
	if err != nil {
		return err
	}
	c.recordPlanWarnings(service, todo)
	if !todo.Empty() {
		if err := c.apply(ctx, service, todo); err != nil {
			return err
		}
		if _, err := c.settled(ctx, t); err != nil {
			return err
		}
	}
	c.missing.take(lockName(key))
	c.due.take(lockName(key))
	c.created.forget(lockName(key))
	c.baselines.forget(key.UID)
	setHeld(c.options.Provider, lockName(key), 0)
	c.ensured.Delete(lockName(key))
	c.valid.Delete(key.UID)
	c.sent.Forget(lockName(key), sourceIntent, sourcePlan)
	return nil
}

// PlanLoadBalancer implements Planner. Warnings about the Service's annotations are part of the plan.
// It bypasses every snapshot and applied record, so that the plan shows drift.
func (c *Controller[S, D, O]) PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node, remove bool) (plan.Plan, error) {
	key := c.key(clusterName, service)
	if remove {
		_, todo, err := c.confirmed(ctx, c.nothing(key, service))
		return todo, err
	}
	if !c.handles(service) {
		return plan.Plan{Subject: intent.Subject(service),
			Warnings: []string{"another controller makes this Service's load balancer: nothing is done here"}}, nil
	}
	in, warnings, err := intent.Read(service, c.options.Vocabulary)
	if err != nil {
		return plan.Plan{}, err
	}
	t, err := c.desired(ctx, target[S, D]{key: key, reference: c.cloud.Reference(service), in: in}, nodes)
	if err != nil {
		return plan.Plan{}, err
	}
	have, todo, err := c.confirmed(ctx, t)
	if err != nil {
		return plan.Plan{}, err
	}
	todo = c.withRecords(t, have, todo)
	texts := make([]string, 0, len(warnings)+len(todo.Warnings))
	for _, w := range warnings {
		texts = append(texts, w.Message)
	}
	todo.Warnings = append(texts, todo.Warnings...)
	return todo, nil
}
