package plan

import "slices"

// Effect declares what a kind of change disrupts, and which fields of a Service cause it. A provider declares each kind
// once, and lists them in its descriptor: the table of its guide is generated from that list.
type Effect struct {
	// Change describes the kind for users, in Markdown: "a listener is deleted".
	Change   string
	Disrupts Disruption
	// Causes are the fields that such a change follows from. Without any, it needs an approval.
	Causes []FieldSet
}

// FieldSet is a set of fields of a Service with a name for users.
type FieldSet struct {
	Name string
	// Fields are named as in Change.Follows.
	Fields []string
}

// Declare sets what a change disrupts, and the fields that it follows from.
func (e Effect) Declare(change *Change) { change.Disrupts, change.Follows = e.Disrupts, e.Follows() }

// Follows returns the fields of all causes, for Change.Follows.
func (e Effect) Follows() []string { return Union(e.Causes...) }

// Union returns the fields of some sets, each once.
func Union(sets ...FieldSet) []string {
	var fields []string
	for _, set := range sets {
		for _, field := range set.Fields {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	return fields
}
