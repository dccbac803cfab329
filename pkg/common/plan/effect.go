package plan

import "slices"

// Effect declares what a kind of change disrupts. A provider declares each kind once, and lists them in its descriptor:
// the table of its guide is generated from that list.
type Effect struct {
	// Change describes the kind for users, in Markdown: "a listener is deleted".
	Change   string
	Disrupts Disruption
	// Fields are the fields of the change that disrupt, by their names in plans. Without any, the object as a whole does.
	Fields []string
}

// Declare sets what a change and its fields disrupt. If several effects are declared for a change, the most severe one is
// that of the change.
func (e Effect) Declare(change *Change) {
	if e.Disrupts.severity() > change.Disrupts.severity() {
		change.Disrupts = e.Disrupts
	}
	for i, f := range change.Fields {
		if slices.Contains(e.Fields, f.Name) && e.Disrupts.severity() > f.Disrupts.severity() {
			change.Fields[i].Disrupts = e.Disrupts
		}
	}
}

// Covers reports whether the effect declares a difference.
func (e Effect) Covers(d Difference) bool {
	if e.Disrupts != d.Disrupts {
		return false
	}
	return len(e.Fields) == 0 && d.Field == "" || slices.ContainsFunc(e.Fields, func(name string) bool {
		return d.IsOf(name)
	})
}
