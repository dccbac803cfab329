// Package puretest verifies that a load balancer's Diff, DiffMembers and Keep are pure: they return the same twice, and
// change nothing that can be reached from the cloud or from their arguments.
package puretest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Cloud is a cloud that stores applied records.
type Cloud[S, D, O any] interface {
	lbcommon.Cloud[S, D, O]
	lbcommon.RecordKeeper[D, O]
}

// Checked is a Cloud that verifies each Diff and DiffMembers. It is not for tests with concurrent calls.
type Checked[S, D, O any] struct {
	Cloud[S, D, O]
	t testing.TB
	// Plans counts the plans with changes that were verified.
	Plans int
	// Kept counts the calls of Keep that were verified.
	Kept int
	// Settle, if set, waits until no other goroutine runs.
	Settle func()
}

// Check returns a cloud that fails the test for an impure function.
func Check[S, D, O any](t testing.TB, cloud Cloud[S, D, O]) *Checked[S, D, O] {
	return &Checked[S, D, O]{Cloud: cloud, t: t}
}

// Handles implements lbcommon.ClassFilter.
func (c *Checked[S, D, O]) Handles(service *v1.Service) bool {
	filter, ok := c.Cloud.(lbcommon.ClassFilter)
	return !ok || filter.Handles(service)
}

// Bind implements lbcommon.Binder.
func (c *Checked[S, D, O]) Bind(key lbcommon.Key, have O, p plan.Plan) plan.Plan {
	binder, ok := c.Cloud.(lbcommon.Binder[O])
	if !ok {
		return p
	}
	return binder.Bind(key, have, p)
}

// Keep implements lbcommon.Keeper.
func (c *Checked[S, D, O]) Keep(want D, have O, differences []plan.Difference) D {
	keeper, ok := c.Cloud.(lbcommon.Keeper[D, O])
	if !ok {
		return want
	}
	c.t.Helper()
	state := []any{c.Cloud, want, have, differences}
	before := dump(state)
	kept := keeper.Keep(want, have, differences)
	first := dump(kept)
	if changed := difference(before, dump(state)); len(changed) > 0 {
		c.t.Errorf("Keep changes what it gets, or a cache of the cloud:\n%s", strings.Join(changed, "\n"))
	}
	if changed := difference(first, dump(keeper.Keep(want, have, differences))); len(changed) > 0 {
		c.t.Errorf("Keep returns another state the second time:\n%s", strings.Join(changed, "\n"))
	}
	c.Kept++
	return kept
}

// Diff implements lbcommon.Cloud.
func (c *Checked[S, D, O]) Diff(key lbcommon.Key, want *D, have O) (plan.Plan, error) {
	return c.verify("Diff", []any{want, have}, func() (plan.Plan, error) { return c.Cloud.Diff(key, want, have) })
}

// DiffMembers implements lbcommon.Cloud.
func (c *Checked[S, D, O]) DiffMembers(key lbcommon.Key, in intent.Service, nodes []*v1.Node, shared S,
	have O) (plan.Plan, error) {
	return c.verify("DiffMembers", []any{in, nodes, shared, have},
		func() (plan.Plan, error) { return c.Cloud.DiffMembers(key, in, nodes, shared, have) })
}

func (c *Checked[S, D, O]) verify(name string, arguments []any, diff func() (plan.Plan, error)) (plan.Plan, error) {
	c.t.Helper()
	if c.Settle != nil {
		c.Settle()
	}
	state := append([]any{c.Cloud}, arguments...)
	before := dump(state)
	first, firstErr := diff()
	between := dump(state)
	second, secondErr := diff()
	if changed := difference(before, between); len(changed) > 0 {
		c.t.Errorf("%s changes what it gets, or a cache of the cloud:\n%s", name, strings.Join(changed, "\n"))
	}
	if changed := difference(between, dump(state)); len(changed) > 0 {
		c.t.Errorf("a second %s changes what it gets, or a cache of the cloud:\n%s", name, strings.Join(changed, "\n"))
	}
	if one, two := show(first, firstErr), show(second, secondErr); one != two {
		c.t.Errorf("%s returns another plan the second time:\n%s\nthe first was\n%s", name, two, one)
	}
	if len(first.Changes)+len(first.Held) > 0 {
		c.Plans++
	}
	return second, secondErr
}

// maxDifferences is the maximum number of lines of a difference in a message.
const maxDifferences = 20

// difference returns the lines that differ, those of before with a minus.
func difference(before, after []string) []string {
	var out []string
	for i := range max(len(before), len(after)) {
		var one, two string
		if i < len(before) {
			one = before[i]
		}
		if i < len(after) {
			two = after[i]
		}
		if one != two {
			out = append(out, "- "+one, "+ "+two)
		}
	}
	return out[:min(len(out), maxDifferences)]
}

// show formats all of a plan but its functions.
func show(p plan.Plan, err error) string {
	p.Changes = slices.Clone(p.Changes)
	for i := range p.Changes {
		p.Changes[i].Do, p.Changes[i].Ready = nil, nil
	}
	p.Held = slices.Clone(p.Held)
	for i := range p.Held {
		p.Held[i].Do, p.Held[i].Ready = nil, nil
	}
	return fmt.Sprintf("%+v %v", p, err)
}
