package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// String formats the reference for users: "create listener a1b2/80-TCP".
func (r Ref) String() string { return string(r.Action) + " " + r.Kind + " " + r.Name }

// Validate reports everything that makes the plan impossible to run: references that are incomplete or not
// unique, dependencies on missing changes, cycles. Such a plan is a programming error of a provider, and
// Apply runs none of it.
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
			errs = append(errs, fmt.Errorf("two changes have the reference %q", c.Ref))
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

// Sorted returns the plan with every change after its dependencies. Independent changes keep their order, so
// that equal plans always print alike. It fails as Validate does.
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

// Membership returns the part of the plan that only affects which nodes receive traffic: the Membership
// changes that depend, directly or indirectly, only on Membership changes. The others need a load balancer of
// another shape first and are left to the whole plan.
func (p Plan) Membership() Plan {
	keep := make(map[Ref]bool, len(p.Changes))
	for _, c := range p.Changes {
		keep[c.Ref] = c.Membership
	}
	for changed := true; changed; {
		changed = false
		for _, c := range p.Changes {
			if keep[c.Ref] && !containsAll(keep, c.After) {
				keep[c.Ref], changed = false, true
			}
		}
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return !keep[c.Ref] })
	return p
}

// Count returns the number of changes of each action.
func (p Plan) Count() map[Action]int {
	n := map[Action]int{}
	for _, c := range p.Changes {
		n[c.Action]++
	}
	return n
}

// containsAll reports whether a set has all references.
func containsAll(set map[Ref]bool, refs []Ref) bool {
	return !slices.ContainsFunc(refs, func(r Ref) bool { return !set[r] })
}

// order returns the indexes of the changes in an order that can be run: always the first change of the list
// without open dependencies. If there is none, the remaining changes form or follow a cycle, and it returns
// one cycle.
func (p Plan) order() (order []int, cycle []Ref) {
	done := make(map[Ref]bool, len(p.Changes))
	for len(order) < len(p.Changes) {
		next := -1
		for i, c := range p.Changes {
			if !done[c.Ref] && containsAll(done, c.After) {
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

// cycle follows open dependencies until it reaches a change again. Every change outside done has such a
// dependency.
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
