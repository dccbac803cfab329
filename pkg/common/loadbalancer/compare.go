package loadbalancer

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

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

// membersOnly reports whether a plan changes nothing but members.
func membersOnly(p plan.Plan) bool { return countMembership(p) == len(p.Changes) }

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
