package plan

import (
	"slices"
	"strings"
)

// Difference is one disruptive difference between an existing object and the wanted one. Two plans for one Service have
// the same Difference if they would change the same field of the same object to the same value.
type Difference struct {
	Kind string
	// Object is the Key of the change.
	Object string
	// Field is empty for an object as a whole, such as one that is deleted.
	Field string
	// Wanted is the text of the wanted value; empty for an object or an item of a set that is not wanted.
	Wanted string
	// Disrupts is the effect on clients. It is no part of the identity.
	Disrupts Disruption
}

// Same reports whether two differences are the same, whatever they disrupt.
func (d Difference) Same(other Difference) bool {
	d.Disrupts, other.Disrupts = "", ""
	return d == other
}

// SamePlace reports whether two differences are of the same field of the same object, whatever is wanted.
func (d Difference) SamePlace(other Difference) bool {
	d.Wanted, other.Wanted = "", ""
	return d.Same(other)
}

// IsIn reports whether a list has the same difference of an object, whatever is wanted.
func (d Difference) IsIn(list []Difference) bool { return slices.ContainsFunc(list, d.SamePlace) }

// IsOf reports whether the difference is one of a field, or of an item that leaves the field's set.
func (d Difference) IsOf(field string) bool {
	return d.Field == field || strings.HasPrefix(d.Field, field+" ")
}

// String names the object and the field.
func (d Difference) String() string {
	text := strings.TrimSpace(d.Kind + " " + d.Object)
	if d.Field != "" {
		text += " " + d.Field
	}
	return text
}

// DifferenceSet is a set of differences, whatever they disrupt.
type DifferenceSet map[Difference]struct{}

// Add adds differences, and returns those that are new.
func (s DifferenceSet) Add(differences ...Difference) (fresh []Difference) {
	for _, d := range differences {
		key := d
		key.Disrupts = ""
		if _, ok := s[key]; !ok {
			s[key] = struct{}{}
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// Has reports whether a set has a difference.
func (s DifferenceSet) Has(d Difference) bool {
	d.Disrupts = ""
	_, ok := s[d]
	return ok
}
