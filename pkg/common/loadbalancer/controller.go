package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// DefaultTimeout bounds one call of Ensure, Update or EnsureDeleted. It is longer than the slowest cloud
// needs to create a load balancer (virtual machines that boot, about 10 minutes). It exists because the
// framework calls Update with a context that never ends: a hung wait must not block its worker forever.
const DefaultTimeout = 15 * time.Minute

// DefaultRetryAfter is the time until the framework retries a load balancer that is complete and has no
// address yet. One read every 10 seconds is cheap, and exponential backoff would leave a Service without an
// address for up to 5 minutes after the cloud has assigned it.
const DefaultRetryAfter = 10 * time.Second

// Options configure New. Provider is required.
type Options struct {
	// Provider is the cloud's name, for messages and metric labels.
	Provider string
	// Vocabulary lists the annotations that the cloud reads.
	Vocabulary intent.Vocabulary
	// OwnsNode classifies nodes; only Mine receive traffic. Nil for clouds that own every node.
	OwnsNode func(*v1.Node) provider.Ownership
	// NodeAddresses returns the cloud's addresses of a node without addresses in its status, and
	// cloudprovider.InstanceNotFound for a node without an instance. Clouds that send traffic to addresses need
	// it: the framework syncs load balancers when a node gets its provider ID, writes the addresses after that,
	// and then does not sync again. Nil for clouds that send traffic to instances.
	NodeAddresses func(context.Context, *v1.Node) ([]v1.NodeAddress, error)
	// Nodes lists the current nodes once a call has the lock of its load balancer; nil uses the nodes of the
	// call.
	Nodes *nodes.LazyLister
	// Parallel bounds the concurrent mutations of one plan; 0 means plan.DefaultParallel.
	Parallel int
	// Timeout bounds one call; 0 means DefaultTimeout.
	Timeout time.Duration
	// RetryAfter is the time until a load balancer without an address is read again; 0 means DefaultRetryAfter.
	RetryAfter time.Duration
	// Observer receives every step of every applied change, in addition to the metrics. It must be safe for
	// concurrent use. May be nil.
	Observer func(change plan.Change, status plan.Status, err error)
	// DeferRecords makes Run write the applied records of changed members in batches, instead of with each
	// change.
	DeferRecords bool
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Controller implements cloudprovider.LoadBalancer for one cloud. It is safe for concurrent use; calls for
// one Service are serialized, calls for different Services run concurrently.
type Controller struct {
	options Options
	cloud   Cloud[any, any, any]
	// The other interfaces of the cloud; nil for those that it does not implement.
	keeper     Keeper[any, any]
	binder     Binder[any]
	records    RecordKeeper[any, any]
	finalizers FinalizerKeeper[any, any]
	filter     ClassFilter
	allReader  AllReader

	runtime atomic.Pointer[provider.Runtime]
	locks   locks.KeyedMutex
	sent    *events.Deduplicator
	due     dueRecords
	states  states
}

var (
	_ Interface            = (*Controller)(nil)
	_ provider.RuntimeUser = (*Controller)(nil)
)

// New returns the load balancer interface of one cloud.
func New[S, D, O any](o Options, cloud Cloud[S, D, O]) *Controller {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.RetryAfter = cmp.Or(o.RetryAfter, DefaultRetryAfter)
	o.Clock = clocks.OrReal(o.Clock)
	o.Vocabulary.Provider = cmp.Or(o.Vocabulary.Provider, o.Provider)
	o.Vocabulary.ForeignPrefixes = provider.ForeignPrefixes(o.Provider)
	instruments.Process().Set.Register()
	c := &Controller{options: o, cloud: erasedCloud[S, D, O]{cloud}, sent: events.NewDeduplicator()}
	if keeper, ok := cloud.(Keeper[D, O]); ok {
		c.keeper = erasedKeeper[D, O]{keeper}
	}
	if binder, ok := cloud.(Binder[O]); ok {
		c.binder = erasedBinder[O]{binder}
	}
	if records, ok := cloud.(RecordKeeper[D, O]); ok {
		c.records = erasedRecords[D, O]{records}
	}
	if finalizers, ok := cloud.(FinalizerKeeper[D, O]); ok {
		c.finalizers = erasedFinalizers[D, O]{finalizers}
	}
	c.filter, _ = cloud.(ClassFilter)
	c.allReader, _ = cloud.(AllReader)
	return c
}

// SetRuntime implements provider.RuntimeUser. Before it is called, Events are dropped and the cluster's UID
// is unknown.
func (c *Controller) SetRuntime(r provider.Runtime) { c.runtime.Store(&r) }

// noAddressError is the error about a load balancer that matches the desired state but has no address. While
// the cloud is working on it, the Service is retried soon. A failed one needs a user, so the framework's
// exponential backoff applies.
func (c *Controller) noAddressError(key Key, failure string) error {
	if failure != "" {
		return fmt.Errorf("load balancer %s %s", c.cloud.Name(key), failure)
	}
	return c.retryLater(fmt.Errorf("load balancer %s has no address yet: the cloud is still working on it",
		c.cloud.Name(key)))
}

func (c *Controller) missingError(key Key) error {
	return &cloudapi.Error{
		Class:     cloudapi.NotFound,
		Operation: "load balancer " + c.cloud.Name(key),
		Err: fmt.Errorf("it does not exist, but %s needs it; it is created at the next sync of the Service",
			key.Subject()),
	}
}

// withRetry makes the framework wait as long as the cloud requested.
func (c *Controller) withRetry(err error) error {
	var ce *cloudapi.Error
	if errors.As(err, &ce) && ce.RetryAfter > 0 {
		return &retryError{cause: err, retry: api.NewRetryError(err.Error(), ce.RetryAfter)}
	}
	return err
}

func (c *Controller) retryLater(err error) error {
	return &retryError{cause: err, retry: api.NewRetryError(err.Error(), c.options.RetryAfter)}
}

// retryError keeps the cause, and its class, next to the framework's RetryError.
type retryError struct {
	cause error
	retry *api.RetryError
}

func (e *retryError) Error() string { return e.cause.Error() }

func (e *retryError) Unwrap() []error { return []error{e.cause, e.retry} }
