package loadbalancer

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/digests"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// maxEvaluations is the maximum number of edits that are undone one at a time to find the cause of a difference.
// Further ones are undone together.
const maxEvaluations = 8

// maxKeepRounds bounds how often a plan is made again because what is kept leads to further held differences: a cloud
// has few layers of objects. What is still found after them is held as a whole.
const maxKeepRounds = 10

// causes decide which differences of a plan the edits of a Service cause. A difference is caused by an edit if it is
// not part of the plan for the last inputs, which is made with the same code, configuration, shared state and
// observation.
type causes struct {
	// plan returns the plan for other inputs of the Service that keeps the same differences. It is pure.
	plan func(in intent.Inputs, keep []plan.Difference) (plan.Plan, error)
	// state returns the digest of the wanted state for other inputs of the Service; empty if it is unknown. It is pure.
	state func(in intent.Inputs) string
	// seen are the differences that need a cause although they disrupt nothing.
	seen seenOnly
	// present are the inputs of the Service, last those that were seen before, if they are known.
	present, last intent.Inputs
	known         bool
	// caused are differences with an earlier cause, which are not applied yet.
	caused []digests.Cause
	// keep are the differences that the plans keep.
	keep []plan.Difference

	// undone are the plans without some of the edits, in the order of the edits.
	undone    []undoneEdits
	evaluated bool
	// before is the plan for the last inputs, if they are still valid; had are its differences.
	before *plan.Plan
	had    plan.DifferenceSet
	// lastState is the digest of the wanted state for the last inputs, once it is known.
	lastState *string
}

// undoneEdits are the differences of the plan without some edits of a Service.
type undoneEdits struct {
	fields      []string
	differences plan.DifferenceSet
}

// keeping returns the causes of the differences of plans that keep further ones.
func (c *causes) keeping(keep []plan.Difference) *causes {
	next := *c
	next.keep, next.undone, next.evaluated, next.before, next.had = keep, nil, false, nil, nil
	return &next
}

// of returns the cause of a difference, and whether it has one.
func (c *causes) of(d plan.Difference) (plan.Cause, bool) {
	place, wanted := digests.Of(d)
	if i := slices.IndexFunc(c.caused, func(e digests.Cause) bool { return e.Covers(place, wanted) }); i >= 0 {
		return plan.Cause{Difference: d, Fields: c.caused[i].Fields, Started: c.caused[i].Started}, true
	}
	if !c.isEdited() {
		return plan.Cause{}, false
	}
	c.evaluate()
	if c.had.Has(d) {
		return plan.Cause{}, false
	}
	fields := c.fieldsOf(d)
	return plan.Cause{Difference: d, Fields: fields}, c.before != nil || len(fields) > 0
}

// ofChange reports whether an edit causes a change that disrupts nothing. It is false while the last inputs cannot be
// planned.
func (c *causes) ofChange(change plan.Change) bool {
	if !c.isEdited() {
		return false
	}
	c.evaluate()
	return c.before != nil && !slices.ContainsFunc(c.before.Changes, func(other plan.Change) bool {
		return other.Ref == change.Ref && slices.EqualFunc(other.Fields, change.Fields, func(a, b plan.Field) bool {
			return a.Name == b.Name && a.After == b.After
		})
	})
}

// isEdited reports whether the inputs of the Service have changed since they were last seen.
func (c *causes) isEdited() bool { return c.known && !c.present.Equal(c.last) }

// hadBefore reports whether the plan for the last inputs, which differ from the present ones, has a difference.
func (c *causes) hadBefore(d plan.Difference) bool {
	if !c.isEdited() {
		return false
	}
	c.evaluate()
	return c.before != nil && c.had.Has(d)
}

// lastWanted returns the digest of the wanted state for the last inputs; empty if it is unknown.
func (c *causes) lastWanted() string {
	if c.lastState == nil {
		state := ""
		if c.isEdited() && c.state != nil {
			state = c.state(c.last)
		}
		c.lastState = &state
	}
	return *c.lastState
}

// evaluate makes the plan for the last inputs. If they are not valid any more, the edits are undone one at a time.
func (c *causes) evaluate() {
	if c.evaluated {
		return
	}
	c.evaluated = true
	if p, err := c.plan(c.last, c.keep); err == nil {
		c.before, c.had = &p, c.differences(c.last, p)
	}
}

// differences returns the differences of a plan for some inputs, and those that it has once these are kept: a
// difference can hide others, as the replacement of a load balancer does with those of its listeners.
func (c *causes) differences(in intent.Inputs, p plan.Plan) plan.DifferenceSet {
	all, keep := plan.DifferenceSet{}, slices.Clone(c.keep)
	for range maxKeepRounds {
		fresh := all.Add(slices.Concat(c.seen.differences(p.Changes...), plan.Plan{Held: p.Held}.Differences())...)
		if len(fresh) == 0 {
			break
		}
		keep = append(keep, fresh...)
		var err error
		if p, err = c.plan(in, keep); err != nil {
			break
		}
	}
	return all
}

// hiddenBy returns the causes of the differences that those of a plan for the present inputs hide: an edit that takes
// these back, once the cloud has refused them, takes back no other one.
func (c *causes) hiddenBy(p plan.Plan, planned []plan.Difference) (hidden []plan.Cause) {
	if !c.isEdited() && len(c.caused) == 0 {
		return nil
	}
	seen := plan.DifferenceSet{}
	seen.Add(planned...)
	for d := range c.differences(c.present, p) {
		if cause, caused := c.of(d); caused && !seen.Has(d) {
			hidden = append(hidden, cause)
		}
	}
	slices.SortFunc(hidden, func(a, b plan.Cause) int { return strings.Compare(a.String(), b.String()) })
	return hidden
}

// fieldsOf returns the edited fields without whose edits the plan does not have the difference.
func (c *causes) fieldsOf(d plan.Difference) []string {
	c.undo()
	var fields []string
	for _, u := range c.undone {
		if !u.differences.Has(d) {
			fields = append(fields, u.fields...)
		}
	}
	return fields
}

// undo makes the plans without single edits. A field whose last value is not valid is left out instead.
func (c *causes) undo() {
	if c.undone != nil {
		return
	}
	edits := c.present.Edits(c.last)
	if len(edits) > maxEvaluations {
		rest := slices.Concat(edits[maxEvaluations-1:]...)
		edits = append(edits[:maxEvaluations-1:maxEvaluations-1], rest)
	}
	c.undone = []undoneEdits{}
	for _, names := range edits {
		in := c.present.With(c.last, names)
		p, err := c.plan(in, c.keep)
		if err != nil {
			in = c.present.Without(names)
			p, err = c.plan(in, c.keep)
		}
		if err == nil {
			c.undone = append(c.undone, undoneEdits{names, c.differences(in, p)})
		}
	}
}

// causes returns the causes of the differences of a target's plans.
func (c *Controller) causes(t target, have any) *causes {
	h, known := c.historyOf(t)
	found := &causes{
		present: intent.InputsOf(t.service, c.options.Vocabulary), caused: h.Caused,
		plan: func(in intent.Inputs, keep []plan.Difference) (plan.Plan, error) {
			return c.planInputs(t, have, in, keep)
		},
		state: func(in intent.Inputs) string {
			want, err := c.wantedBy(t, in)
			if err != nil || c.records == nil {
				return ""
			}
			return c.records.DesiredRecord(want).State
		},
	}
	if known {
		found.last, found.known = h.lastInputs(found.present, c.options.Vocabulary)
	}
	return found
}

// planInputs returns the plan for other inputs of a Service. It is pure.
func (c *Controller) planInputs(t target, have any, inputs intent.Inputs,
	keep []plan.Difference) (plan.Plan, error) {
	want, err := c.wantedBy(t, inputs)
	if err != nil {
		return plan.Plan{}, err
	}
	return c.diffKeeping(t.key, want, have, keep)
}

// wantedBy returns the desired state for other inputs of a Service. It is pure.
func (c *Controller) wantedBy(t target, inputs intent.Inputs) (any, error) {
	service, err := inputs.Apply(t.service, c.options.Vocabulary)
	if err != nil {
		return nil, err
	}
	in, _, err := c.read(service)
	if err != nil {
		return nil, err
	}
	return c.cloud.Desired(t.key, in, t.nodes, t.shared)
}

// diffKeeping returns the plan that keeps some of the existing values.
func (c *Controller) diffKeeping(key Key, want, have any, keep []plan.Difference) (plan.Plan, error) {
	if c.keeper != nil && len(keep) > 0 {
		want = c.keeper.Keep(want, have, keep)
	}
	return c.cloud.Diff(key, &want, have)
}
