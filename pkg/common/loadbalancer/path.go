package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// target is the desired state of one Service's load balancer. A nil want means that nothing should exist.
type target struct {
	key       Key
	service   *v1.Service
	reference Reference
	in        intent.Service
	want      *any
	// history replaces the known one, if it is set.
	history history
	// nodes may receive traffic. They and the shared state are the inputs of want.
	nodes  []*v1.Node
	shared any
}

// emptyTarget is the target of a Service that needs no load balancer.
func (c *Controller) emptyTarget(key Key, service *v1.Service) target {
	return target{key: key, reference: c.cloud.Reference(service)}
}

func (c *Controller) key(clusterName string, service *v1.Service) Key {
	key := Key{ClusterName: clusterName, Namespace: service.Namespace, Name: service.Name, UID: service.UID}
	if r := c.runtime.Load(); r != nil {
		key.ClusterUID = r.ClusterUID
	}
	return key
}

// handles reports whether this manager reconciles the Service's load balancer.
func (c *Controller) handles(service *v1.Service) bool {
	return c.filter == nil || c.filter.Handles(service)
}

// enter waits for the lock of the load balancer and bounds the duration of the call.
func (c *Controller) enter(ctx context.Context, key Key) (context.Context, func(), error) {
	unlock, err := c.locks.Lock(ctx, lockName(key))
	if err != nil {
		return ctx, nil, fmt.Errorf("waiting for another change of load balancer %s to finish: %w", c.cloud.Name(key), err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	return ctx, func() { cancel(); unlock() }, nil
}

// target parses the Service, warns about settings without effect, and computes the desired state.
func (c *Controller) target(ctx context.Context, key Key, service *v1.Service,
	nodes []*v1.Node) (target, error) {
	in, warnings, err := c.read(service)
	c.recordWarnings(service, warnings)
	t := target{key: key, service: service, reference: c.cloud.Reference(service), in: in}
	c.rememberFirst(ctx, service)
	if err != nil {
		return t, err
	}
	return c.desired(ctx, t, nodes)
}

// read parses the Service. The error has the problems of portable annotations, and those of the cloud's own.
func (c *Controller) read(service *v1.Service) (intent.Service, []intent.Warning, error) {
	in, warnings, err := intent.Read(service, c.options.Vocabulary)
	if err != nil {
		err = intent.Join(intent.Subject(service), err, c.cloud.Validate(in))
	}
	return in, warnings, err
}

// desired adds the desired state to a target.
func (c *Controller) desired(ctx context.Context, t target, nodes []*v1.Node) (_ target,
	err error) {
	ctx, span := tracing.Start(ctx, "desired")
	defer func() { tracing.End(span, err) }()
	if t, err = c.withNodes(ctx, t, nodes); err != nil {
		return t, err
	}
	want, err := c.cloud.Desired(t.key, t.in, t.nodes, t.shared)
	if err != nil {
		return t, err
	}
	t.want = &want
	return t, nil
}

// withNodes adds to a target those of the nodes that may receive traffic, and the state that Services share.
func (c *Controller) withNodes(ctx context.Context, t target, nodes []*v1.Node) (target, error) {
	var err error
	if t.nodes, err = c.withAddresses(ctx, c.eligibleNodes(nodes)); err != nil {
		return t, err
	}
	if t.shared, err = c.cloud.SharedState(ctx, t.nodes); err != nil {
		return t, fmt.Errorf("reading the state that load balancers share: %w", err)
	}
	return t, nil
}

// compare returns the existing objects and the changes. A snapshot is enough to decide that nothing has to
// change; any other result, refusals included, is confirmed by an authoritative read first, so that a stale
// snapshot never leads to a creation or deletion.
func (c *Controller) compare(ctx context.Context, t target) (any, plan.Plan, error) {
	if t.service != nil {
		if h, _ := c.knownHistory(t.service); (h.Unfinished || h.Unproven) && !h.applying {
			return c.compareAuthoritative(ctx, t) // The applied record may be that of an earlier edit or manager.
		}
	}
	return c.planIf(ctx, t, plan.Plan.Empty)
}

// compareAuthoritative is compare without the snapshot.
func (c *Controller) compareAuthoritative(ctx context.Context, t target) (any, plan.Plan, error) {
	return c.planIf(ctx, t, nil)
}

// planIf plans from a snapshot if that plan is enough, and from an authoritative read otherwise. A nil function skips
// the snapshot.
func (c *Controller) planIf(ctx context.Context, t target, enough func(plan.Plan) bool) (have any,
	p plan.Plan, err error) {
	ctx, span := tracing.Start(ctx, "plan")
	defer func() {
		tracing.SetAttributes(span, tracing.Changes.Int(len(p.Changes)), tracing.Held.Int(len(p.Held)))
		tracing.End(span, err)
	}()
	if enough != nil {
		if have, err = c.observe(ctx, t, Cached); err != nil {
			return have, plan.Plan{}, err
		}
		if p, err = c.diff(ctx, t, have); err == nil && enough(p) {
			return have, p, nil
		}
	}
	if have, err = c.observe(ctx, t, Authoritative); err != nil {
		return have, plan.Plan{}, err
	}
	p, err = c.diff(ctx, t, have)
	return have, p, err
}

// compareMembers is compare for a change of nodes. Adding and removing members is idempotent and creates
// nothing, so a snapshot is enough if there are no other changes: one node that joins 200 load balancers
// costs 200 changes, without as many reads before them.
func (c *Controller) compareMembers(ctx context.Context, t target) (any, plan.Plan, error) {
	return c.planIf(ctx, t, membersOnly)
}

// isAbsent reports whether no object of a load balancer exists.
func (c *Controller) isAbsent(key Key, have any) (bool, error) {
	removal, err := c.cloud.Diff(key, nil, have)
	return err == nil && removal.Empty(), err
}

// reportMissing returns the error about a load balancer that was deleted, and stores it for GetLoadBalancer:
// the framework calls it next, and would drop the error if the load balancer did not exist.
func (c *Controller) reportMissing(key Key) error {
	c.states.update(key.UID, func(s *serviceState) { s.missing = true })
	return c.missingError(key)
}

// missingAfter returns an error if the load balancer does not exist, after a change that failed because an object was
// not found.
func (c *Controller) missingAfter(ctx context.Context, t target, cause error) error {
	if !cloudapi.Is(cause, cloudapi.NotFound) {
		return nil
	}
	have, err := c.observe(ctx, t, Authoritative)
	if err != nil {
		return err
	}
	if absent, err := c.isAbsent(t.key, have); err != nil || !absent {
		return err
	}
	return c.reportMissing(t.key)
}

// compareRemoval returns the existing objects of a load balancer and the changes that would delete them. A snapshot
// can prove that something exists, but never that nothing does.
func (c *Controller) compareRemoval(ctx context.Context, key Key, service *v1.Service) (any, plan.Plan, error) {
	return c.planIf(ctx, c.emptyTarget(key, service), func(p plan.Plan) bool { return !p.Empty() })
}

// observe reads the objects for the comparison with the target. Settings do not matter if nothing should
// exist.
func (c *Controller) observe(ctx context.Context, t target, fresh Freshness) (have any, err error) {
	ctx, span := tracing.Start(ctx, "observe", tracing.Authoritative.Bool(fresh == Authoritative))
	defer func() { tracing.End(span, err) }()
	request := Request[any]{Key: t.key, Reference: t.reference, Want: t.want, Depth: Full, Freshness: fresh}
	if t.want == nil {
		request.Depth = Existence
	}
	if have, err = c.cloud.Observe(ctx, request); err != nil {
		return have, fmt.Errorf("reading load balancer %s: %w", c.cloud.Name(t.key), err)
	}
	return have, nil
}

// diff returns the changes to apply, and those that are held.
func (c *Controller) diff(ctx context.Context, t target, have any) (p plan.Plan, err error) {
	_, span := tracing.Start(ctx, "diff")
	defer func() { tracing.End(span, err) }()
	if p, err = c.cloud.Diff(t.key, t.want, have); err != nil {
		p.Subject = cmp.Or(p.Subject, t.key.Subject())
		return p, err
	}
	if p, err = finishDiff(t, p); err != nil {
		return p, err
	}
	if p, err = c.hold(ctx, t, have, p); err == nil && t.want != nil {
		instruments.Process().SetHeld(c.options.Provider, lockName(t.key), len(p.Held))
	}
	return c.bind(t.key, have, p), err
}

// bind returns a plan with the functions that make its changes.
func (c *Controller) bind(key Key, have any, p plan.Plan) plan.Plan {
	if c.binder == nil {
		return p
	}
	return c.binder.Bind(key, have, p)
}

// finishDiff completes the plan that a cloud returned.
func finishDiff(t target, p plan.Plan) (plan.Plan, error) {
	p.Subject = cmp.Or(p.Subject, t.key.Subject())
	p.Warnings = intent.Limit(p.Warnings)
	return refuseCreation(t.in, p)
}

// verifyApplied verifies after an apply that the diff is empty, and returns the changes that are held. The snapshot
// includes the responses to every change, so it is enough if it agrees; otherwise the cloud is read. Remaining changes
// are an error, since the framework would not retry before the Service's next change.
func (c *Controller) verifyApplied(ctx context.Context, t target) (any, []plan.HeldChange, error) {
	have, remaining, err := c.compare(ctx, t)
	if err == nil && !remaining.Empty() {
		err = c.unfinished(t, remaining)
	}
	if err == nil && t.service != nil {
		c.recordPlanWarnings(t.service, remaining) // A change may have been denied.
	}
	return have, remaining.Held, err
}

func (c *Controller) unfinished(t target, remaining plan.Plan) error {
	return fmt.Errorf("load balancer %s still differs from the desired state after all changes; remaining: %s",
		c.cloud.Name(t.key), plan.Summary(remaining))
}

// remove applies the plan of a removal, and those that follow from it: what several Services share becomes unused when
// the last of them are deleted side by side. A change that remains after it was applied is an error.
func (c *Controller) remove(ctx context.Context, t target, service *v1.Service, p plan.Plan) error {
	applied := map[plan.Ref]bool{}
	for !p.Empty() {
		for _, change := range p.Changes {
			if applied[change.Ref] {
				return c.unfinished(t, p)
			}
			applied[change.Ref] = true
		}
		err := c.apply(ctx, service, p)
		if err != nil {
			return err
		}
		if _, p, err = c.compare(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// applyPlan applies a plan with the causes of its disruptive differences, and returns the existing objects after it.
// The Service has the cloud's finalizers before, and none that it does not need after.
func (c *Controller) applyPlan(ctx context.Context, t target, have any, p plan.Plan) (any, error) {
	if err := c.addFinalizers(ctx, t, have); err != nil {
		return have, err
	}
	if err := c.beginPlan(ctx, t, have, p); err != nil {
		return have, err
	}
	held := p.Held
	if !p.Empty() {
		if err := c.apply(ctx, t.service, p); err != nil {
			return have, err
		}
		var err error
		if have, held, err = c.verifyApplied(ctx, t); err != nil {
			return have, err
		}
	}
	c.endPlan(ctx, t, have, p, held)
	c.endApproval(ctx, t.service, p.Approval)
	c.deferRecord(t, have, p)
	return have, c.dropFinalizers(ctx, t.service, c.neededFinalizers(t, have))
}

// apply runs the plan, and sends an Event about the applied changes.
func (c *Controller) apply(ctx context.Context, service *v1.Service, p plan.Plan) error {
	if p.Empty() {
		return nil
	}
	logger := klog.FromContext(ctx).WithValues("provider", c.options.Provider, "service", klog.KObj(service))
	result, err := c.run(ctx, logger, p)
	c.recordChanged(service, result.AppliedChanges(p))
	return c.withRetry(err)
}

// run applies the plan, logs and counts its changes.
func (c *Controller) run(ctx context.Context, logger klog.Logger, p plan.Plan) (_ plan.Result, err error) {
	ctx, span := tracing.Start(ctx, "apply", tracing.Changes.Int(len(p.Changes)))
	defer func() { tracing.End(span, err) }()
	return p.Apply(ctx, plan.ApplyOptions{
		Parallel: c.options.Parallel,
		Clock:    c.options.Clock,
		Observer: func(change plan.Change, status plan.Status, err error) {
			if status == plan.Done || err != nil {
				logger.V(2).Info("Load balancer change", "action", change.Action, "kind", change.Kind, "name", change.Name,
					"status", status, "err", err)
			}
			instruments.Process().Count(c.options.Provider, change, status, err)
			if c.options.Observer != nil {
				c.options.Observer(change, status, err)
			}
		},
	})
}

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

// annotate sets the annotations that the Service lacks, or has with other values. A failure is only logged: the next
// sync or audit retries.
func (c *Controller) annotate(ctx context.Context, service *v1.Service, annotations map[string]string) {
	r := c.runtime.Load()
	if r == nil || r.Annotate == nil {
		return
	}
	changed := maps.Clone(annotations)
	maps.DeleteFunc(changed, func(key, value string) bool {
		current, set := service.Annotations[key]
		return set && current == value
	})
	if len(changed) == 0 {
		return
	}
	if err := r.Annotate(ctx, service, changed); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to annotate the Service", "service", klog.KObj(service),
			"annotations", changed)
	}
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

func (e *retryError) Error() string   { return e.cause.Error() }
func (e *retryError) Unwrap() []error { return []error{e.cause, e.retry} }

// countMembership returns the number of changes that only affect which nodes receive traffic.
func countMembership(p plan.Plan) int {
	n := 0
	for _, c := range p.Changes {
		if c.Membership {
			n++
		}
	}
	return n
}

// lockName is the key of the lock. It omits the UID, because a Service that is deleted and recreated under
// its name has, on some clouds, the same load balancer.
func lockName(key Key) string { return key.Namespace + "/" + key.Name }
