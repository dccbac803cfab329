package diff

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// move is a listener that moves to another target group.
type move struct {
	ref, group reference
	listener   model.Listener
	// old is the ARN of the group that drains once the listener has moved, if both are attached; "" for none.
	old string
	// attaches reports whether the plan attaches the group before. AWS may refuse it: then the listener moves at once.
	attaches bool
}

// attached is set in the handles of a plan if both target groups are attached.
func (m move) attached() plan.Handle { return plan.Handle("attached " + m.ref.name) }

// draining returns the group that drains once the listener has moved.
func (m move) draining(ids *plan.Handles) string {
	if m.attaches && !ids.Has(m.attached()) {
		return ""
	}
	return m.old
}

// forwardsOnlyTo reports whether a listener forwards to a target group only, except for others that drain.
func (d *differ) forwardsOnlyTo(forwards []model.Forward, group string) bool {
	attached := false
	for _, f := range forwards {
		if f.Group == group {
			attached = true
			continue
		}
		if g, ok := d.have.Group(f.Group); !ok || f.Weight != 0 || !g.Draining() || g.Active() > 0 {
			return false
		}
	}
	return attached
}

// listenerAttach plans that a listener also forwards to its new target group, with weight 0, until that can take over.
// It returns the changes that the move waits for.
func (d *differ) listenerAttach(m *move, after []plan.Ref) []plan.Ref {
	forwards, group := m.listener.Forwards, m.group
	others := slices.DeleteFunc(slices.Clone(forwards), func(f model.Forward) bool { return f.Group == group.arn })
	if len(others) == 0 {
		return after
	}
	// Of several, the one with traffic: the others only drain.
	old := slices.MaxFunc(others, func(a, b model.Forward) int { return cmp.Compare(a.Weight, b.Weight) }).Group
	if group.arn != "" && slices.ContainsFunc(forwards, func(f model.Forward) bool { return f.Group == group.arn }) {
		// An earlier run was interrupted here. A group without targets has no connections to drain.
		before, known := d.have.Group(old)
		if known && (before.Active() > 0 || before.Draining()) {
			m.old = old
		}
		if fresh, ok := d.have.Group(group.arn); !ok || m.old == "" || fresh.Healthy() > 0 || before.Healthy() == 0 {
			return after
		}
		return d.probesChange(m, after, groupHealth{*m})
	}
	m.old, m.attaches = old, true
	return d.probesChange(m, slices.Concat(after, d.opened), groupAttachment{groupHealth{*m}, d.balancer()})
}

// probesChange plans a step after which a listener moves.
func (d *differ) probesChange(m *move, after []plan.Ref, step plan.WaitingStep[Writer]) []plan.Ref {
	change := plan.Change{
		Ref:    plan.Ref{Kind: "probes of listener", Name: m.ref.name, Action: plan.Update},
		Fields: []plan.Field{{Name: fieldTargetGroup, After: m.group.name + " with weight 0"}},
		Reason: "the new target group becomes healthy before the listener moves to it",
		After:  after, Step: step,
	}
	d.add(change)
	return []plan.Ref{change.Ref}
}

// groupHealth waits until the new target group of a listener, which forwards to it already, can take over.
type groupHealth struct{ move }

// Do implements plan.Step.
func (groupHealth) Do(context.Context, Writer, *plan.Handles) error { return nil }

// Ready implements plan.WaitingStep.
func (s groupHealth) Ready(ctx context.Context, w Writer, ids *plan.Handles) error {
	arn, err := s.group.resolve(ids)
	if err != nil || s.draining(ids) == "" {
		return err
	}
	return w.AwaitHealthy(ctx, arn, s.old)
}

// groupAttachment lets a listener forward to its new target group as well, and waits until that can take over.
type groupAttachment struct {
	groupHealth
	balancer reference
}

var _ plan.WaitingStep[Writer] = groupAttachment{}

// Do implements plan.Step.
func (s groupAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arns, err := resolveAll(ids, s.balancer, s.group)
	if err != nil {
		return err
	}
	attached, err := w.AttachGroup(ctx, arns[0], s.listener, s.old, arns[1])
	if attached {
		ids.Set(s.attached(), s.old)
	}
	return err
}
