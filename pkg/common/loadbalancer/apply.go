package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

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

// beginPlan stores, before a plan is applied, the inputs of the Service and the differences that have a cause, so that
// these are finished after an interruption. An error means that no disruptive change may begin.
func (c *Controller) beginPlan(ctx context.Context, t target, have any, p plan.Plan) error {
	before, _ := c.knownHistory(t.service)
	h := before
	present := intent.InputsOf(t.service, c.options.Vocabulary)
	if last, ok := before.lastInputs(present, c.options.Vocabulary); ok && len(p.Unapplied) > 0 {
		present = present.With(last, p.Unapplied)
	}
	if h.Digest != applied.Digest(present) {
		h = h.withInputs(present, c.options.Vocabulary, c.options.Clock.Now())
		h.Unfinished = h.Unfinished || !p.Empty()
	} else if h.Inputs == nil {
		h.Inputs = present // They are too long to be stored. This process still knows them at the next edit.
	}
	h = h.withSeen(p.Held, c.seenOnly(t, have))
	h.Approved = h.Approved || p.Approval != ""
	h.UID, h.applying = t.service.UID, !p.Empty()
	h = h.withCaused(p.Caused, before.Caused)
	if err := c.storeChanged(ctx, t.service, before, h); err != nil {
		if slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Disrupts.Severe() }) {
			c.states.setHistory(t.service.UID, before) // nothing has started
			return fmt.Errorf("storing the causes of disruptive changes in the status of %s: %w", t.key.Subject(), err)
		}
		klog.FromContext(ctx).Error(err, "Failed to store the inputs of a Service in its status, retrying at its next sync",
			"service", klog.KObj(t.service))
	}
	return nil
}

// appliedState returns the digest of the wanted state to which a plan leads, but for what it holds; empty if it is
// unknown, or if the load balancer has only been taken over so far.
func (c *Controller) appliedState(t target, have any, p plan.Plan) string {
	if c.records == nil || t.want == nil {
		return ""
	}
	if stored, _ := c.records.StoredRecord(t.key, have); stored.IsZero() && p.Empty() {
		return ""
	}
	return c.records.DesiredRecord(*t.want).State
}

// endPlan stores, after a plan was applied, that its differences need no cause any more: only those that it does not
// apply stay. Have are the objects after it, and held the changes that are held then: a held value may have moved to a
// new object.
func (c *Controller) endPlan(ctx context.Context, t target, have any, p plan.Plan, held []plan.HeldChange) {
	before, _ := c.knownHistory(t.service)
	h := c.withApplied(t, have, p, held, before).withSeen(held, c.seenOnly(t, have))
	h.applying, h.Unfinished = false, false
	h.Unproven = before.Unproven && len(held) > 0
	h.Caused = before.left(p.Changes, held)
	if h.Approved {
		h.Approvals, h.Approved = h.Approvals+1, false
	}
	if err := c.storeChanged(ctx, t.service, before, h); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to store in the status of a Service that its changes are applied, retrying "+
			"at its next sync", "service", klog.KObj(t.service))
	}
}

// withApplied returns a history with the wanted state that a plan has applied, if the load balancer does not store it.
func (c *Controller) withApplied(t target, have any, p plan.Plan, held []plan.HeldChange, before history) history {
	state := c.appliedState(t, have, p)
	if len(held) > 0 {
		return before.withHeld(state, held)
	}
	if c.records == nil || t.want == nil {
		return before.withHeld("", nil)
	}
	if _, writable := c.records.StoredRecord(t.key, have); writable {
		return before.withHeld("", nil)
	}
	if membersOnly(p) {
		// The load balancer may have been taken over, unless this is the rest of an interrupted plan.
		state = ""
		if before.Wanted != "" || before.Unfinished || before.Created {
			state = c.records.DesiredRecord(*t.want).State
		}
	}
	return before.withHeld(state, nil)
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
