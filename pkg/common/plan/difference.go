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

// Object returns what identifies the object of the change in all plans of one Service.
func (c Change) Object() string {
	if c.Key != "" {
		return c.Key
	}
	return c.Name
}

// Differences returns the disruptive differences of a change: one for each field that disrupts more than members, one
// for each item that leaves such a set, or one for the object as a whole if no field is disruptive by itself.
func (c Change) Differences() []Difference {
	if !c.Disrupts.Severe() {
		return nil
	}
	var differences []Difference
	for _, f := range c.Fields {
		if !f.Disrupts.Severe() {
			continue
		}
		d := Difference{Kind: c.Kind, Object: c.Object(), Field: f.Name, Wanted: f.After, Disrupts: f.Disrupts}
		if f.Place != "" {
			d.Kind, d.Object = "", f.Place
		}
		if len(f.Removed) == 0 {
			differences = append(differences, d)
		}
		for _, item := range f.Removed {
			d.Field, d.Wanted = f.Name+" "+item, ""
			differences = append(differences, d)
		}
	}
	if len(differences) > 0 {
		return differences
	}
	var wanted []string
	for _, f := range c.Fields {
		if c.Action != Delete && !f.Membership {
			wanted = append(wanted, f.Name+"="+f.After)
		}
	}
	return []Difference{{
		Kind: c.Kind, Object: c.Object(), Wanted: strings.Join(wanted, "\n"), Disrupts: c.Disrupts,
	}}
}

// Harmless returns the differences of an existing object that disrupt nothing: one for each field, or one for an object
// that is deleted. Objects that are created, members and marks have none.
func (c Change) Harmless() []Difference {
	if c.Action == Create || c.Membership || c.Mark {
		return nil
	}
	if c.Action == Delete {
		if c.Disrupts.Severe() {
			return nil
		}
		return []Difference{{Kind: c.Kind, Object: c.Object(), Disrupts: c.Disrupts}}
	}
	severe := c.Differences()
	if len(severe) == 1 && severe[0].Field == "" {
		return nil // The change disrupts as a whole.
	}
	var differences []Difference
	for _, f := range c.Fields {
		if !f.Disrupts.Severe() && !f.Membership {
			differences = append(differences, Difference{Kind: c.Kind, Object: c.Object(), Field: f.Name, Wanted: f.After,
				Disrupts: f.Disrupts})
		}
	}
	return differences
}

// Differences returns the disruptive differences of all changes of a plan, held ones included.
func (p Plan) Differences() []Difference {
	var differences []Difference
	for _, c := range p.Changes {
		differences = append(differences, c.Differences()...)
	}
	for _, h := range p.Held {
		differences = append(differences, h.Differences()...)
	}
	return differences
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
