package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/approval"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// judge decides which differences of a plan are held.
type judge struct {
	policy provider.DisruptionPolicy
	causes *causes
	// wanted is the digest of the wanted state. If applied is set, this manager applied all of it: then every difference
	// is drift. Otherwise the history shows what was applied.
	wanted  string
	applied bool
	history history
	// stored is the digest of the state that the stored record proves.
	stored string
	// takenOver is true for a load balancer without a stored record, unless this manager started to change it.
	takenOver bool
	seen      seenOnly
}

// verdict are the disruptive differences of a plan that are held, and those that have a cause.
type verdict struct {
	held   []heldDifference
	caused []plan.Cause
	// planned are all differences of the plan that need a cause.
	planned []plan.Difference
}

// heldDifference is a difference that is not applied, with the reason.
type heldDifference struct {
	plan.Difference
	reason string
}

// holds returns why a difference is held; empty if it is not.
func (v verdict) holds(d plan.Difference) string {
	for _, h := range v.held {
		if h.Same(d) {
			return h.reason
		}
	}
	return ""
}

// stillHolding returns the verdict with differences that were held before. A plan with one that the cloud could not
// keep has no cause for it, even if the plan for the last inputs, which may keep it, does not have it.
func (v verdict) stillHolding(held []heldDifference) verdict {
	for _, h := range held {
		if v.holds(h.Difference) == "" {
			v.held = append(v.held, h)
		}
		v.caused = slices.DeleteFunc(v.caused, func(c plan.Cause) bool { return c.Same(h.Difference) })
	}
	return v
}

// judge decides about each difference of a plan that needs a cause.
func (j judge) judge(p plan.Plan) verdict {
	var v verdict
	for _, c := range p.Changes {
		for _, d := range j.seen.differences(c) {
			v.planned = append(v.planned, d)
			cause, caused := j.causes.of(d)
			if caused && d.Disrupts.Severe() {
				v.caused = append(v.caused, cause)
			}
			if reason := j.reason(d, caused); reason != "" {
				v.held = append(v.held, heldDifference{d, reason})
			}
		}
	}
	return v
}

// drifts reports whether a difference is drift: of a value that this manager applied, and that was changed since. Its
// wanted value is the applied one if the whole wanted state is, or if that for the last inputs is and has the same
// difference.
func (j judge) drifts(d plan.Difference) bool {
	if j.applied || j.history.drifts(d, j.wanted) {
		return true
	}
	last := j.causes.lastWanted()
	return last != "" && (last == j.stored || j.history.drifts(d, last)) && j.causes.hadBefore(d)
}

// reason returns why a difference is held, or "".
func (j judge) reason(d plan.Difference, caused bool) string {
	switch {
	case j.policy == provider.AllowDisruption:
		return ""
	case j.policy == provider.HoldAllDisruption && d.Disrupts.Severe():
		return "the policy holds every disruption"
	case caused, d.Disrupts == plan.DisruptsTraffic && j.drifts(d):
		return ""
	case !d.Disrupts.Severe():
		return "this manager has only seen it, and no edit of the Service causes it"
	case j.takenOver:
		return "no edit of the Service that was seen since the load balancer was taken over causes it"
	default:
		return "no edit of the Service causes it"
	}
}

// splitHeld splits a plan into the changes to apply and those that are held, which it returns in the plan's Held: those
// with a held difference, and those that depend on them.
func splitHeld(p plan.Plan, v verdict) plan.Plan {
	reasons := map[plan.Ref]string{}
	for _, c := range p.Changes {
		for _, d := range slices.Concat(c.Differences(), c.Harmless()) {
			if reason := v.holds(d); reason != "" {
				reasons[c.Ref] = reason
				break
			}
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

// keptChanges returns the changes of differences that the next plan keeps, without their other fields.
func keptChanges(p plan.Plan, keep []heldDifference) []plan.HeldChange {
	var kept []plan.HeldChange
	for _, c := range p.Changes {
		differences := slices.Concat(c.Differences(), c.Harmless())
		own := slices.DeleteFunc(slices.Clone(keep), func(k heldDifference) bool {
			return !slices.ContainsFunc(differences, k.Same)
		})
		if len(own) == 0 {
			continue
		}
		held := plan.Change{Ref: c.Ref, ID: c.ID, Key: c.Key, Reason: c.Reason}
		for _, f := range c.Fields {
			if slices.ContainsFunc(own, func(k heldDifference) bool { return k.Field == "" || k.IsOf(f.Name) }) {
				held.Fields = append(held.Fields, f)
			}
		}
		for _, k := range own {
			plan.Effect{Disrupts: k.Disrupts}.Declare(&held)
		}
		kept = append(kept, plan.HeldChange{Change: held, Reason: own[0].reason})
	}
	return kept
}

// newJudge returns the judge of a target's plans.
func (c *Controller) newJudge(t target, have any) judge {
	j := judge{causes: c.causes(t, have), takenOver: true, seen: c.seenOnly(t, have)}
	j.causes.seen = j.seen
	if r := c.runtime.Load(); r != nil {
		j.policy = r.Disruption
	}
	if c.records != nil {
		stored, _ := c.records.StoredRecord(t.key, have)
		want := c.records.DesiredRecord(*t.want)
		h, _ := c.historyOf(t)
		j.takenOver = stored.IsZero() && !h.Unfinished && h.Wanted == ""
		j.wanted, j.history = want.State, h
		if !h.Unproven {
			j.stored = stored.State
		}
		j.applied = j.stored != "" && j.stored == want.State
	}
	return j
}

// hold applies the policy to a plan. Held differences keep what exists, and everything else is applied: what follows
// from a kept value is computed again, and members follow the nodes.
func (c *Controller) hold(ctx context.Context, t target, have any, p plan.Plan) (plan.Plan, error) {
	if t.want == nil || !slices.ContainsFunc(p.Changes, c.seenOnly(t, have).mayBeHeld) {
		return p, nil // most plans: the last inputs are not read
	}
	j := c.newJudge(t, have)
	v := j.judge(p)
	v.caused = append(v.caused, j.causes.hiddenBy(p, v.planned)...)
	if len(v.held) == 0 {
		return withCauses(withoutIdleMarks(p, j), v), nil
	}
	split, held, caused, err := c.keep(t, have, p, j, v)
	if err != nil {
		return split, err
	}
	if len(held) == 0 {
		return withCauses(withoutIdleMarks(split, j), v), nil
	}
	split.HeldID = approval.OfHeld(differencesOf(held), c.approvalsUsed(t))
	if approved := c.approval(ctx, t.service); approval.Covers(approved, split.HeldID) {
		p.Approval = approved
		return withCauses(p, v), nil
	}
	v.caused = caused // those that what is held has hidden, too
	members, err := c.cloud.DiffMembers(t.key, t.in, t.nodes, t.shared, have)
	if err != nil {
		return split, err
	}
	split = withCauses(withoutIdleMarks(withMembers(split, members), j), v)
	return withHeldWarning(split, c.approvals().Place(t.service)), nil
}

// differencesOf returns held differences without the reasons.
func differencesOf(held []heldDifference) []plan.Difference {
	out := make([]plan.Difference, 0, len(held))
	for _, h := range held {
		out = append(out, h.Difference)
	}
	return out
}

// keep returns the plan without what is held, the held differences, and those with a cause: in the first plan, and in
// those that keep what hides them. The cloud keeps what it can; changes with others are held as a whole.
func (c *Controller) keep(t target, have any, p plan.Plan, j judge, v verdict) (split plan.Plan,
	held []heldDifference, caused []plan.Cause, err error) {
	held, caused = v.held, v.caused
	var kept []plan.HeldChange
	if c.keeper != nil {
		var keep []plan.Difference
		fresh := v.held
		for rounds := 0; len(fresh) > 0 && rounds < maxKeepRounds; rounds++ {
			kept = append(kept, keptChanges(p, fresh)...)
			keep = append(keep, differencesOf(fresh)...)
			next, err := c.diffKeeping(t.key, *t.want, have, keep)
			if err != nil {
				return next, held, caused, err
			}
			if p, err = finishDiff(t, next); err != nil {
				return p, held, caused, err
			}
			keeping := j
			keeping.causes = j.causes.keeping(keep)
			v = keeping.judge(p).stillHolding(held)
			caused = slices.Concat(caused, slices.DeleteFunc(v.caused, func(cause plan.Cause) bool {
				return slices.ContainsFunc(caused, func(other plan.Cause) bool { return other.Same(cause.Difference) })
			}))
			fresh = slices.DeleteFunc(slices.Clone(v.held), func(h heldDifference) bool {
				return slices.ContainsFunc(keep, h.Same)
			})
			held = append(held, fresh...)
		}
	}
	v, held, kept = withoutUnkept(v, held, kept)
	split = splitHeld(p, v)
	// What the cloud could not keep is held as a whole, with its other fields.
	kept = slices.DeleteFunc(kept, func(k plan.HeldChange) bool {
		return slices.ContainsFunc(split.Held, func(h plan.HeldChange) bool { return h.Ref == k.Ref && h.ID == k.ID })
	})
	split.Held = slices.Concat(kept, split.Held)
	return split, held, caused, nil
}

// withCauses adds to a plan what causes its disruptive differences, held ones included. Those of its changes count as
// started once the plan is applied.
func withCauses(p plan.Plan, v verdict) plan.Plan {
	p.Changes = slices.Clone(p.Changes)
	for i, c := range p.Changes {
		for _, d := range c.Differences() {
			cause := plan.Cause{Difference: d, Started: true}
			if k := slices.IndexFunc(v.caused, func(other plan.Cause) bool { return other.Same(d) }); k >= 0 {
				cause.Fields = v.caused[k].Fields
			}
			p.Caused = append(p.Caused, cause)
			for _, field := range cause.Fields {
				if !slices.Contains(p.Changes[i].Because, field) {
					p.Changes[i].Because = append(slices.Clone(p.Changes[i].Because), field)
				}
			}
		}
	}
	for _, cause := range v.caused {
		applied := slices.ContainsFunc(p.Caused, func(other plan.Cause) bool { return other.Same(cause.Difference) })
		if !applied { // It is held, or kept together with another one that is.
			p.Caused = append(p.Caused, cause)
		}
	}
	return p
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
		if approval.IsNeeded(h) {
			texts = append(texts, fmt.Sprintf("%s (disrupts %s: %s)", formatHeld(h), cmp.Or(h.Disrupts, "nothing"), h.Reason))
		}
	}
	approved := "set to " + p.HeldID
	if len(p.HeldID) > events.MaxMessage/2 {
		approved = "set to the ID that ccm plan prints"
	}
	text := fmt.Sprintf("changes without a cause in the Service are held until %s is %s: %s",
		place, approved, strings.Join(texts, "; "))
	p.Warnings = append(slices.Clone(p.Warnings), text)
	reasons := maps.Clone(p.Reasons)
	if reasons == nil {
		reasons = map[string]events.Reason{}
	}
	reasons[text] = events.LoadBalancerChangesHeld
	p.Reasons = reasons
	return p
}

// formatHeld names a held change, and its fields if single ones disrupt.
func formatHeld(h plan.HeldChange) string {
	var names []string
	for _, f := range h.Fields {
		if f.Disrupts.Severe() {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return h.Ref.String()
	}
	return h.Ref.String() + " " + strings.Join(names, ", ")
}

// withoutIdleMarks removes the marks from a plan for a load balancer that was taken over, unless an edit of the Service
// causes a mark or a change of members, as that of a node port does, or the plan has other changes.
func withoutIdleMarks(p plan.Plan, j judge) plan.Plan {
	needsMarks := func(c plan.Change) bool { return !c.Mark && !c.Membership || j.causes.ofChange(c) }
	if !j.takenOver || slices.ContainsFunc(p.Changes, needsMarks) {
		return p
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c plan.Change) bool { return c.Mark })
	return p
}

// withoutUnkept removes what disrupts nothing and is still in the plan although it should be kept: it is applied. Held
// as a whole, it would hold what waits for it.
func withoutUnkept(v verdict, held []heldDifference, kept []plan.HeldChange) (verdict, []heldDifference,
	[]plan.HeldChange) {
	planned := v.planned
	isUnkept := func(d plan.Difference) bool { return !d.Disrupts.Severe() && slices.ContainsFunc(planned, d.SamePlace) }
	isHeldUnkept := func(h heldDifference) bool { return isUnkept(h.Difference) }
	v.held = slices.DeleteFunc(slices.Clone(v.held), isHeldUnkept)
	held = slices.DeleteFunc(slices.Clone(held), isHeldUnkept)
	var out []plan.HeldChange
	for _, k := range kept {
		differences := slices.Concat(k.Differences(), k.Harmless())
		unkept := slices.DeleteFunc(slices.Clone(differences), func(d plan.Difference) bool { return !isUnkept(d) })
		if len(differences) > 0 && len(unkept) == len(differences) {
			continue
		}
		k.Fields = slices.DeleteFunc(slices.Clone(k.Fields), func(f plan.Field) bool {
			return slices.ContainsFunc(unkept, func(d plan.Difference) bool { return d.Field == f.Name })
		})
		out = append(out, k)
	}
	return v, held, out
}
