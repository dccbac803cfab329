package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// String is the reference as a person reads it: "create listener a1b2/80-TCP".
func (r Ref) String() string { return string(r.Action) + " " + r.Kind + " " + r.Name }

// Validate reports everything that makes the plan impossible to run: references that are
// incomplete or not unique, dependencies on changes that are not there, cycles. Such a plan is a
// provider's programming error, and nothing of it is applied.
func (p Plan) Validate() error {
	var errs []error
	seen := make(map[Ref]bool, len(p.Changes))
	for i, c := range p.Changes {
		switch {
		case c.Kind == "" || c.Name == "":
			errs = append(errs, fmt.Errorf("change %d (%s) lacks a kind or a name", i, c.Ref))
		case c.Action != Create && c.Action != Update && c.Action != Delete:
			errs = append(errs, fmt.Errorf("change %d: %q is not an action", i, c.Action))
		case seen[c.Ref]:
			errs = append(errs, fmt.Errorf("two changes are called %q", c.Ref))
		}
		seen[c.Ref] = true
	}
	for _, c := range p.Changes {
		for _, need := range c.After {
			if !seen[need] {
				errs = append(errs, fmt.Errorf("%q waits for %q, which is not in the plan", c.Ref, need))
			}
		}
	}
	if len(errs) == 0 {
		if _, cycle := p.order(); len(cycle) > 0 {
			errs = append(errs, fmt.Errorf("changes wait for each other: %s", cycleText(cycle)))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("plan of %s is invalid: %w", p.Subject, errors.Join(errs...))
}

// Sorted returns the plan with every change behind what it waits for. Changes that don't depend
// on each other keep their places, so that equal plans always print alike. It fails as Validate does.
func (p Plan) Sorted() (Plan, error) {
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	order, _ := p.order()
	sorted := p
	sorted.Changes = make([]Change, len(order))
	for i, from := range order {
		sorted.Changes[i] = p.Changes[from]
	}
	return sorted, nil
}

// Membership returns the part of the plan that only concerns which nodes receive traffic: the
// Membership changes that wait, directly or through others, for nothing but Membership changes.
// The others need a load balancer of another shape first and are left to the whole plan.
func (p Plan) Membership() Plan {
	keep := make(map[Ref]bool, len(p.Changes))
	for _, c := range p.Changes {
		keep[c.Ref] = c.Membership
	}
	for changed := true; changed; {
		changed = false
		for _, c := range p.Changes {
			if keep[c.Ref] && !all(c.After, keep) {
				keep[c.Ref], changed = false, true
			}
		}
	}
	sub := Plan{Subject: p.Subject, Held: p.Held, Warnings: p.Warnings, Reasons: p.Reasons}
	for _, c := range p.Changes {
		if keep[c.Ref] {
			sub.Changes = append(sub.Changes, c)
		}
	}
	return sub
}

// Count says how many changes of each action the plan has.
func (p Plan) Count() map[Action]int {
	n := map[Action]int{}
	for _, c := range p.Changes {
		n[c.Action]++
	}
	return n
}

func all(refs []Ref, in map[Ref]bool) bool {
	for _, r := range refs {
		if !in[r] {
			return false
		}
	}
	return true
}

// order returns the indexes of the changes in an order that can be run: always the first change
// of the list that waits for nothing any more. If there is none, the changes that are left form
// or follow a cycle, and one cycle is returned.
func (p Plan) order() (order []int, cycle []Ref) {
	done := make(map[Ref]bool, len(p.Changes))
	for len(order) < len(p.Changes) {
		next := -1
		for i, c := range p.Changes {
			if !done[c.Ref] && all(c.After, done) {
				next = i
				break
			}
		}
		if next < 0 {
			return nil, p.cycle(done)
		}
		order = append(order, next)
		done[p.Changes[next].Ref] = true
	}
	return order, nil
}

// cycle walks along unmet needs until it meets itself. Every change outside done has such a need.
func (p Plan) cycle(done map[Ref]bool) []Ref {
	needs := make(map[Ref]Ref, len(p.Changes))
	var at Ref
	for _, c := range slices.Backward(p.Changes) {
		for _, need := range c.After {
			if !done[c.Ref] && !done[need] {
				needs[c.Ref], at = need, c.Ref
				break
			}
		}
	}
	var path []Ref
	visited := map[Ref]int{}
	for {
		if start, again := visited[at]; again {
			return append(path[start:], at)
		}
		visited[at] = len(path)
		path = append(path, at)
		at = needs[at]
	}
}

func cycleText(cycle []Ref) string {
	names := make([]string, len(cycle))
	for i, r := range cycle {
		names[i] = r.String()
	}
	return strings.Join(names, " → ")
}
