package plan

import "fmt"

// Add appends changes to the plan.
func (p *Plan) Add(changes ...Change) { p.Changes = append(p.Changes, changes...) }

// Warnf appends a warning to the plan.
func (p *Plan) Warnf(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// Refs returns the references of changes, for After of the changes that depend on them.
func Refs(changes []Change) []Ref {
	refs := make([]Ref, len(changes))
	for i, c := range changes {
		refs[i] = c.Ref
	}
	return refs
}

// MatchResult are the objects of one kind, grouped by action.
type MatchResult[H, W any] struct {
	// Missing objects are desired and do not exist: the plan creates them.
	Missing []W
	// Kept objects exist and are desired: the plan updates those with differing fields.
	Kept []Pair[H, W]
	// Surplus objects exist and are not desired: the plan deletes them.
	Surplus []H
}

// Pair is an existing object and the desired one.
type Pair[H, W any] struct {
	Have H
	Want W
}

// Match sorts the objects of one kind. same reports whether an existing object is a desired one, or can be
// updated in place to become it; if an immutable field differs, it returns false, and the plan deletes the
// one and creates the other. Each object is part of one pair at most. The order of the results is that of the
// arguments.
func Match[H, W any](have []H, want []W, same func(H, W) bool) MatchResult[H, W] {
	var m MatchResult[H, W]
	matched := make([]bool, len(have))
	for _, w := range want {
		i := 0
		for i < len(have) && (matched[i] || !same(have[i], w)) {
			i++
		}
		if i == len(have) {
			m.Missing = append(m.Missing, w)
			continue
		}
		matched[i] = true
		m.Kept = append(m.Kept, Pair[H, W]{have[i], w})
	}
	for i, h := range have {
		if !matched[i] {
			m.Surplus = append(m.Surplus, h)
		}
	}
	return m
}
