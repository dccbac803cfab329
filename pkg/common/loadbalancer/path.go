package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// target is what a Service and the nodes ask for.
type target[D any] struct {
	in   intent.Service
	want *D
}

func (c *Controller[S, D, O]) key(clusterName string, service *v1.Service) Key {
	key := Key{ClusterName: clusterName, Namespace: service.Namespace, Name: service.Name, UID: service.UID}
	if r := c.runtime.Load(); r != nil {
		key.ClusterUID = r.ClusterUID
	}
	if h, ok := any(c.cloud).(Hinter); ok {
		key.Hint = h.Hint(service)
	}
	return key
}

// enter waits for the Service's turn and bounds the time for what follows.
func (c *Controller[S, D, O]) enter(ctx context.Context, key Key) (context.Context, func(), error) {
	unlock, err := c.locks.Lock(ctx, lockName(key))
	if err != nil {
		return ctx, nil, fmt.Errorf("waiting for another change of load balancer %s to finish: %w", c.cloud.Name(key), err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	return ctx, func() { cancel(); unlock() }, nil
}

// target reads the Service, tells its owner what has no effect, and works out what should exist.
func (c *Controller[S, D, O]) target(ctx context.Context, key Key, service *v1.Service, nodes []*v1.Node) (target[D], error) {
	in, warnings, err := intent.Read(service, c.options.Vocabulary)
	c.tellWarnings(service, warnings)
	if err != nil {
		return target[D]{}, c.invalid(in, err)
	}
	want, err := c.desired(ctx, key, in, nodes)
	return target[D]{in: in, want: want}, err
}

func (c *Controller[S, D, O]) desired(ctx context.Context, key Key, in intent.Service, nodes []*v1.Node) (*D, error) {
	members, err := c.addressed(ctx, c.targets(nodes))
	if err != nil {
		return nil, err
	}
	around, err := c.surroundings(ctx, members)
	if err != nil {
		return nil, fmt.Errorf("reading what load balancers share: %w", err)
	}
	want, err := c.cloud.Desired(key, in, members, around)
	if err != nil {
		return nil, err
	}
	return &want, nil
}

// compare returns what exists and what has to change. The snapshot's word is enough to say that
// nothing has to change; whatever it says beyond that, refusals included, is confirmed by an
// authoritative read first, so that an old snapshot never makes us create or delete anything.
func (c *Controller[S, D, O]) compare(ctx context.Context, key Key, want *D) (O, plan.Plan, error) {
	have, err := c.existing(ctx, key, want, Cached)
	if err != nil {
		return have, plan.Plan{}, err
	}
	if todo, err := c.diff(key, want, have); err == nil && todo.Empty() {
		return have, todo, nil
	}
	return c.confirmed(ctx, key, want)
}

// confirmed is compare without the snapshot.
func (c *Controller[S, D, O]) confirmed(ctx context.Context, key Key, want *D) (O, plan.Plan, error) {
	have, err := c.existing(ctx, key, want, Authoritative)
	if err != nil {
		return have, plan.Plan{}, err
	}
	todo, err := c.diff(key, want, have)
	return have, todo, err
}

// existing reads what want is compared with. Where nothing shall exist, how it is set does not matter.
func (c *Controller[S, D, O]) existing(ctx context.Context, key Key, want *D, fresh Freshness) (O, error) {
	if want == nil {
		return c.inventory(ctx, key, fresh)
	}
	return c.observe(ctx, key, fresh)
}

// memberChanges is compare for a change of nodes. Adding and removing members can be repeated and
// creates nothing, so the snapshot's word is enough when they are all there is to do: one node that
// joins 200 load balancers costs 200 changes, and not as many reads before them. It returns an error
// when there is no load balancer.
func (c *Controller[S, D, O]) memberChanges(ctx context.Context, key Key, want *D) (plan.Plan, error) {
	have, err := c.observe(ctx, key, Cached)
	if err != nil {
		return plan.Plan{}, err
	}
	if todo, err := c.diff(key, want, have); err == nil && countMembership(todo) == len(todo.Changes) {
		return todo, nil
	}
	have, todo, err := c.confirmed(ctx, key, want)
	if err != nil {
		return plan.Plan{}, err
	}
	if todo.Empty() {
		return todo, nil
	}
	return todo, c.missingIn(key, have)
}

// missingIn returns an error when nothing exists of the load balancer, and remembers it for
// GetLoadBalancer: the framework asks there next, and would forget the Service if it heard "false".
func (c *Controller[S, D, O]) missingIn(key Key, have O) error {
	left, err := c.cloud.Diff(key, nil, have)
	if err != nil || !left.Empty() {
		return err
	}
	c.missing.add(lockName(key))
	return c.missingError(key)
}

// missingAfter looks whether the load balancer is gone, after a change that failed because
// something was.
func (c *Controller[S, D, O]) missingAfter(ctx context.Context, key Key, cause error) error {
	if !cloudapi.Is(cause, cloudapi.NotFound) {
		return nil
	}
	have, err := c.observe(ctx, key, Authoritative)
	if err != nil {
		return err
	}
	return c.missingIn(key, have)
}

// leftovers returns what exists, and what would have to be deleted of it. The snapshot's word is
// enough to say that something exists, and never that nothing does.
func (c *Controller[S, D, O]) leftovers(ctx context.Context, key Key) (O, plan.Plan, error) {
	have, err := c.inventory(ctx, key, Cached)
	if err != nil {
		return have, plan.Plan{}, err
	}
	if todo, err := c.diff(key, nil, have); err == nil && !todo.Empty() {
		return have, todo, nil
	}
	return c.confirmed(ctx, key, nil)
}

func (c *Controller[S, D, O]) observe(ctx context.Context, key Key, fresh Freshness) (O, error) {
	have, err := c.cloud.Observe(ctx, key, fresh)
	return have, c.readError(key, err)
}

func (c *Controller[S, D, O]) readError(key Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading load balancer %s: %w", c.cloud.Name(key), err)
}

func (c *Controller[S, D, O]) diff(key Key, want *D, have O) (plan.Plan, error) {
	todo, err := c.cloud.Diff(key, want, have)
	if todo.Subject == "" {
		todo.Subject = "Service " + lockName(key)
	}
	return todo, err
}

// settled makes sure after an apply that nothing is left to do. The snapshot holds what the cloud
// answered to every change, so its word is enough when it agrees; otherwise the cloud is read.
// What is left then is an error, since the framework would not come back before the Service's
// next change.
func (c *Controller[S, D, O]) settled(ctx context.Context, key Key, want *D) (O, error) {
	have, rest, err := c.compare(ctx, key, want)
	if err == nil && !rest.Empty() {
		err = fmt.Errorf("load balancer %s differs from what is asked after every change was made; still to do: %s", c.cloud.Name(key), plan.Summary(rest))
	}
	return have, err
}

// apply runs the plan, and tells what it changed.
func (c *Controller[S, D, O]) apply(ctx context.Context, service *v1.Service, todo plan.Plan) error {
	if todo.Empty() {
		return nil
	}
	logger := klog.FromContext(ctx).WithValues("provider", c.options.Provider, "service", klog.KObj(service))
	result, err := todo.Apply(ctx, plan.ApplyOptions{
		Parallel: c.options.Parallel,
		Clock:    c.options.Clock,
		Observer: func(change plan.Change, status plan.Status, err error) {
			if status == plan.Done || err != nil {
				logger.V(2).Info("Load balancer change", "action", change.Action, "kind", change.Kind, "name", change.Name, "status", status, "err", err)
			}
			count(c.options.Provider, change, status, err)
			if c.options.Observer != nil {
				c.options.Observer(change, status, err)
			}
		},
	})
	if made := result.Made(todo); !made.Empty() {
		c.tellChanged(service, made)
	}
	return c.withRetry(err)
}

func (c *Controller[S, D, O]) missingError(key Key) error {
	return &cloudapi.Error{
		Class:     cloudapi.NotFound,
		Operation: "load balancer " + c.cloud.Name(key),
		Err:       fmt.Errorf("it does not exist although Service %s/%s asks for it; it is created when the Service is synced next", key.Namespace, key.Name),
	}
}

// withRetry makes the framework wait as long as the cloud asked for, where it did.
func (c *Controller[S, D, O]) withRetry(err error) error {
	var ce *cloudapi.Error
	if errors.As(err, &ce) && ce.RetryAfter > 0 {
		return &retryError{cause: err, retry: api.NewRetryError(err.Error(), ce.RetryAfter)}
	}
	return err
}

func (c *Controller[S, D, O]) retryLater(err error) error {
	return &retryError{cause: err, retry: api.NewRetryError(err.Error(), c.options.RetryAfter)}
}

// retryError keeps the cause, and its class, next to the framework's RetryError.
type retryError struct {
	cause error
	retry *api.RetryError
}

func (e *retryError) Error() string   { return e.cause.Error() }
func (e *retryError) Unwrap() []error { return []error{e.cause, e.retry} }

func countMembership(p plan.Plan) int {
	n := 0
	for _, c := range p.Changes {
		if c.Membership {
			n++
		}
	}
	return n
}

// lockName is what calls queue up on. It leaves out the UID, because a Service that is deleted and
// created again under its name has, on some clouds, the same load balancer.
func lockName(key Key) string { return key.Namespace + "/" + key.Name }
