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

// Declare sets what a change and those of its fields that the effect names disrupt. An effect with fields has none on a
// change without any of them. If several effects are declared for a change, the most severe one is that of the change.
func (e Effect) Declare(change *Change) {
	declared := len(e.Fields) == 0
	for i, f := range change.Fields {
		if e.names(Difference{Field: f.Name}) {
			declared = true
			change.Fields[i].Disrupts = mostSevere(f.Disrupts, e.Disrupts)
		}
	}
	if declared {
		change.Disrupts = mostSevere(change.Disrupts, e.Disrupts)
	}
}

// names reports whether the effect names the field of a difference.
func (e Effect) names(d Difference) bool { return slices.ContainsFunc(e.Fields, d.IsOf) }

func mostSevere(a, b Disruption) Disruption {
	if b.severity() > a.severity() {
		return b
	}
	return a
}

// Covers reports whether the effect declares a difference.
func (e Effect) Covers(d Difference) bool {
	if e.Disrupts != d.Disrupts {
		return false
	}
	return len(e.Fields) == 0 && d.Field == "" || e.names(d)
}
