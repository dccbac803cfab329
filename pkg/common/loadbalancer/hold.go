package loadbalancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// KeyApprove is the annotation that approves held changes: its value is the ID of the held plan. It is in users'
// manifests and can never change.
const KeyApprove = intent.Prefix + "approve"

// Cause is what decides whether a disruptive change has a cause in its Service.
type Cause struct {
	Policy provider.DisruptionPolicy
	// Applied is what was last applied. Desired is the record of the desired state.
	Applied, Desired AppliedRecord
	// TakenOver is true for a load balancer without a stored record: then what exists counts as applied.
	TakenOver bool
	// Fields are intent.Service.Fields.
	Fields map[string]string
	// Approved is the value of KeyApprove.
	Approved string
}

// Hold splits a plan into the changes to apply and those that are held, which are returned in the plan's Held. A change
// that disrupts more than members is applied if one of the fields that it follows from has changed since the record was
// stored, or if it only restores traffic as it was applied. Changes that wait for held ones are held with them. If the
// ID of the held changes is approved, nothing is held.
func Hold(p plan.Plan, cause Cause) plan.Plan {
	reasons := map[plan.Ref]string{}
	for _, c := range p.Changes {
		if reason := cause.holds(c); reason != "" {
			reasons[c.Ref] = reason
		}
	}
	if len(reasons) == 0 {
		return p
	}
	for more := true; more; {
		more = false
		for _, c := range p.Changes {
			i := slices.IndexFunc(c.After, func(r plan.Ref) bool { return reasons[r] != "" })
			if i >= 0 && reasons[c.Ref] == "" {
				reasons[c.Ref], more = "it waits for: "+c.After[i].String(), true
			}
		}
	}
	apply := p
	apply.Changes, apply.Held = nil, nil
	for _, c := range p.Changes {
		if reason := reasons[c.Ref]; reason != "" {
			apply.Held = append(apply.Held, plan.Held{Change: c, Reason: reason})
		} else {
			apply.Changes = append(apply.Changes, c)
		}
	}
	if cause.Approved != "" && cause.Approved == HeldID(apply.Held) {
		return p
	}
	return apply
}

// holds returns why a change is held, or "".
func (c Cause) holds(change plan.Change) string {
	if !change.Disrupts.Severe() || c.Policy == provider.AllowDisruption {
		return ""
	}
	switch {
	case c.Policy == provider.HoldAllDisruption:
		return "the policy holds every disruption"
	case len(c.Applied.Changed(c.Fields, change.Follows)) > 0:
		return ""
	case change.Disrupts == plan.DisruptsTraffic && c.Applied.State != "" && c.Applied.State == c.Desired.State:
		return "" // repairs drift
	case len(change.Follows) == 0:
		return "it does not follow from the Service"
	case c.TakenOver:
		return "not changed since the load balancer was taken over: " + strings.Join(change.Follows, ", ")
	default:
		return "not changed since it was applied: " + strings.Join(change.Follows, ", ")
	}
}

// HeldID identifies held changes, for an approval of exactly these.
func HeldID(held []plan.Held) string {
	var items []string
	for _, h := range held {
		items = append(items, Digest([]any{h.Ref, h.Fields, h.Disrupts}))
	}
	return DigestSet(items)
}

// unappliedFields returns the fields of the Service that a plan does not apply: those that held changes follow from,
// and those that the cloud leaves out.
func unappliedFields(p plan.Plan) []string {
	names := slices.Clone(p.Unapplied)
	for _, h := range p.Held {
		names = append(names, h.Follows...)
	}
	return names
}

func heldChanges(p plan.Plan) []plan.Change {
	changes := make([]plan.Change, len(p.Held))
	for i, h := range p.Held {
		changes[i] = h.Change
	}
	return changes
}

// cause returns what decides about the disruptive changes of a plan that leads to t.
func (c *Controller[S, D, O]) cause(t target[D], have O) Cause {
	cause := Cause{Fields: t.in.Fields, Approved: t.in.Annotations[KeyApprove]}
	if r := c.runtime.Load(); r != nil {
		cause.Policy = r.Disruption
	}
	applied, stored := c.lastApplied(t, have)
	cause.Applied, cause.TakenOver = applied, !stored
	if keeper, ok := any(c.cloud).(RecordKeeper[D, O]); ok {
		cause.Desired = keeper.DesiredRecord(*t.want)
	}
	return cause
}

// hold applies the policy to a plan, and warns about held changes.
func (c *Controller[S, D, O]) hold(t target[D], have O, todo plan.Plan) plan.Plan {
	if t.want == nil {
		return todo
	}
	cause := c.cause(t, have)
	todo = withoutIdleMarks(Hold(todo, cause), cause)
	setHeld(c.options.Provider, lockName(t.key), len(todo.Held))
	if len(todo.Held) == 0 {
		return todo
	}
	var texts []string
	for _, h := range todo.Held {
		texts = append(texts, fmt.Sprintf("%s (disrupts %s: %s)", h.Ref, h.Disrupts, h.Reason))
	}
	text := fmt.Sprintf("held, because the changes disrupt without a cause in the Service: %s; to apply them, set the "+
		"annotation %s to %s",
		strings.Join(texts, "; "), KeyApprove, HeldID(todo.Held))
	todo.Warnings = append(slices.Clone(todo.Warnings), text)
	reasons := map[string]string{text: EventLoadBalancerChangesHeld}
	for warning, reason := range todo.Reasons {
		reasons[warning] = reason
	}
	todo.Reasons = reasons
	return todo
}
