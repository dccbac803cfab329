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
