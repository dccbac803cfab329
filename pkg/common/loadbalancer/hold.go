package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// HoldInput has what Hold needs to decide whether a disruptive change has a cause in its Service.
type HoldInput struct {
	Policy provider.DisruptionPolicy
	// Applied is the last applied record. Desired is the record of the desired state.
	Applied, Desired AppliedRecord
	// TakenOver is true for a load balancer without a stored record: then the existing objects count as applied.
	TakenOver bool
	// Fields are intent.Service.Fields.
	Fields map[string]string
}

// Hold splits a plan into the changes to apply and those that are held, which it returns in the plan's Held.
// A change that disrupts more than members is applied if one of the fields that it follows from has changed
// since the record was stored, or if it only restores traffic as it was applied. Changes that depend on held
// ones are held with them.
func Hold(p plan.Plan, in HoldInput) plan.Plan {
	reasons := map[plan.Ref]string{}
	for _, c := range p.Changes {
		if reason := in.holdReason(c); reason != "" {
			reasons[c.Ref] = reason
		}
	}
	if len(reasons) == 0 {
		return p
	}
	for found := true; found; {
		found = false
		for _, c := range p.Changes {
			i := slices.IndexFunc(c.After, func(r plan.Ref) bool { return reasons[r] != "" })
			if i >= 0 && reasons[c.Ref] == "" {
				reasons[c.Ref], found = "it waits for: "+c.After[i].String(), true
			}
		}
	}
	split := p
	split.Changes, split.Held = nil, nil
	for _, c := range p.Changes {
		if reason := reasons[c.Ref]; reason != "" {
			split.Held = append(split.Held, plan.HeldChange{Change: c, Reason: reason})
		} else {
			split.Changes = append(split.Changes, c)
		}
	}
	return split
}

// holdReason returns the reason why a change is held, or "".
func (in HoldInput) holdReason(change plan.Change) string {
	if !change.Disrupts.Severe() || in.Policy == provider.AllowDisruption {
		return ""
	}
	switch {
	case in.Policy == provider.HoldAllDisruption:
		return "the policy holds every disruption"
	case len(in.Applied.Changed(in.Fields, change.Follows)) > 0:
		return ""
	case change.Disrupts == plan.DisruptsTraffic && in.Applied.State != "" && in.Applied.State == in.Desired.State:
		return "" // corrects drift
	case len(change.Follows) == 0:
		return "it does not follow from the Service"
	case in.TakenOver:
		return "no change was seen since the load balancer was taken over: " + in.formatInputs(change)
	default:
		return "not changed since it was applied: " + in.formatInputs(change)
	}
}

// maxInputs is the maximum number of fields in a reason. The plan has all of them.
const maxInputs = 3

// formatInputs lists the fields that a change follows from, those that the Service sets first.
func (in HoldInput) formatInputs(change plan.Change) string {
	isSet := func(name string) bool { _, ok := in.Fields[name]; return ok }
	names := slices.Concat(
		slices.DeleteFunc(slices.Clone(change.Follows), func(name string) bool { return !isSet(name) }),
		slices.DeleteFunc(slices.Clone(change.Follows), isSet))
	if hidden := len(names) - maxInputs; hidden > 1 {
		names = append(names[:maxInputs:maxInputs], fmt.Sprintf("and %d more", hidden))
	}
	return strings.Join(names, ", ")
}

// unappliedFields returns the fields of the Service that a plan does not apply: held changes follow from them, or the
// cloud omits them.
func unappliedFields(p plan.Plan) []string {
	names := slices.Clone(p.Unapplied)
	for _, h := range p.Held {
		names = append(names, h.Follows...)
	}
	return names
}

// holdInput returns the input of Hold for a plan of t.
func (c *Controller[S, D, O]) holdInput(t target[S, D], have O) HoldInput {
	in := HoldInput{Fields: t.in.Fields}
	if r := c.runtime.Load(); r != nil {
		in.Policy = r.Disruption
	}
	applied, stored := c.lastApplied(t, have)
	in.Applied, in.TakenOver = applied, !stored
	if keeper, ok := any(c.cloud).(RecordKeeper[D, O]); ok {
		in.Desired = keeper.DesiredRecord(*t.want)
	}
	return in
}

// hold applies the policy to a plan. Held changes leave existing objects unchanged, except for the members,
// which follow the nodes.
func (c *Controller[S, D, O]) hold(ctx context.Context, t target[S, D], have O, p plan.Plan) (plan.Plan, error) {
	if t.want == nil {
		return p, nil
	}
	in := c.holdInput(t, have)
	split := Hold(p, in)
	if p.Replan != nil && len(split.Held) > 0 {
		replanned, err := p.Replan(split.Held)
		if err != nil {
			return replanned, err
		}
		replanned = Hold(replanned, in)
		split.Changes, split.Held = replanned.Changes, slices.Concat(split.Held, replanned.Held)
	}
	if len(split.Held) == 0 {
		return withoutIdleMarks(p, in), nil
	}
	split.HeldID = HeldID(split.Held)
	if approval := c.approval(ctx, t.service); approves(approval, split.HeldID) {
		p.Approval = approval
		return p, nil
	}
	members, err := c.cloud.DiffMembers(t.key, t.in, t.nodes, t.shared, have)
	if err != nil {
		return split, err
	}
	split = withoutIdleMarks(withMembers(split, members), in)
	return withHeldWarning(split, c.approvals().Place(t.service)), nil
}

// withMembers adds the changes of members for which a plan has none, held ones included, unless the plan deletes their
// pool.
func withMembers(p, members plan.Plan) plan.Plan {
	has := func(m plan.Change) bool {
		held := slices.ContainsFunc(p.Held, func(h plan.HeldChange) bool { return h.Ref == m.Ref })
		return held || slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
			return c.Ref == m.Ref || c.Action == plan.Delete && !c.Membership && isPoolOf(c, m)
		})
	}
	changes := slices.DeleteFunc(slices.Clone(members.Changes), has)
	held := slices.DeleteFunc(slices.Clone(members.Held), func(h plan.HeldChange) bool { return has(h.Change) })
	p.Changes, p.Held = slices.Concat(p.Changes, changes), slices.Concat(p.Held, held)
	return p
}

// isPoolOf reports whether a change is of the pool of members: by ID if both have one, because two pools can have one
// name, otherwise by name.
func isPoolOf(change, members plan.Change) bool {
	if change.ID != "" && members.ID != "" {
		return change.ID == members.ID
	}
	return change.Name == members.Name
}

// withHeldWarning adds the warning about held changes, which names the place of their approval. The ID is first: an
// Event has no room for many changes.
func withHeldWarning(p plan.Plan, place string) plan.Plan {
	var texts []string
	for _, h := range p.Held {
		if needsApproval(h) {
			texts = append(texts, fmt.Sprintf("%s (disrupts %s: %s)", h.Ref, cmp.Or(h.Disrupts, "nothing"), h.Reason))
		}
	}
	approval := "set to " + p.HeldID
	if len(p.HeldID) > events.MaxMessage/2 {
		approval = "set to the ID that ccm plan prints"
	}
	text := fmt.Sprintf("changes that disrupt without a cause in the Service are held until %s is %s: %s",
		place, approval, strings.Join(texts, "; "))
	p.Warnings = append(slices.Clone(p.Warnings), text)
	reasons := maps.Clone(p.Reasons)
	if reasons == nil {
		reasons = map[string]events.Reason{}
	}
	reasons[text] = events.LoadBalancerChangesHeld
	p.Reasons = reasons
	return p
}
