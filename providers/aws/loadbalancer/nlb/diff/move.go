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
	listener model.Listener
	group    reference
	// old is the ARN of the group that it also forwards to; it is known when both are attached.
	old string
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
func (d *differ) listenerAttach(name string, m *move, after []plan.Ref) []plan.Ref {
	forwards, group := m.listener.Forwards, m.group
	others := slices.DeleteFunc(slices.Clone(forwards), func(f model.Forward) bool { return f.Group == group.arn })
	if len(others) == 0 {
		return after
	}
	// Of several, the one with traffic: the others only drain.
	old := slices.MaxFunc(others, func(a, b model.Forward) int { return cmp.Compare(a.Weight, b.Weight) }).Group
	if group.arn != "" && slices.ContainsFunc(forwards, func(f model.Forward) bool { return f.Group == group.arn }) {
		// An earlier run was interrupted here. A group without targets has no connections to drain.
		if g, ok := d.have.Group(old); ok && (g.Active() > 0 || g.Draining()) {
			m.old = old
		}
		return after
	}
	change := plan.Change{
		Ref:    plan.Ref{Kind: "probes of listener", Name: name, Action: plan.Update},
		Fields: []plan.Field{{Name: "targetGroup", After: group.name + " with weight 0"}},
		Reason: "the new target group becomes healthy before the listener moves to it",
		After:  slices.Concat(after, d.opened),
		Do: d.withBalancer(group, func(ctx context.Context, balancer, arn string) error {
			attached, err := d.Write.AttachGroup(ctx, balancer, m.listener, old, arn)
			if attached {
				m.old = old // else the listener moves at once
			}
			return err
		}),
		Ready: withARN(group.resolve, func(ctx context.Context, arn string) error {
			if m.old == "" {
				return nil
			}
			return d.Write.AwaitHealthy(ctx, arn, old)
		}),
	}
	d.add(change)
	return []plan.Ref{change.Ref}
}
