package rows

import (
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// What follows from rows is computed here without the types of a kind: a function with type parameters is compiled for
// each kind.

// comparison is a difference of a row between two objects.
type comparison struct {
	field         plan.Field
	inPlace, mark bool
}

// ofEntries returns the comparison for each entry that differs, in the order of their keys. Fields are the names of
// those that disrupt; none means all.
func (c comparison) ofEntries(have, want map[string]string, fields []string, unread bool) []comparison {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(have)), maps.Keys(want))
	slices.Sort(keys)
	var out []comparison
	for _, key := range slices.Compact(keys) {
		if have[key] == want[key] && !unread {
			continue
		}
		entry := c
		entry.field.Name = strings.TrimSpace(c.field.Name + " " + key)
		entry.field.Before, entry.field.After = have[key], want[key]
		if len(fields) > 0 && !slices.Contains(fields, entry.field.Name) {
			entry.field.Disrupts = ""
		}
		out = append(out, entry)
	}
	return out
}

type comparisons []comparison

// update sets the fields of an update, and reports whether there are any.
func (c comparisons) update(change *plan.Change) bool {
	change.Membership, change.Mark = true, true
	for _, row := range c {
		if row.inPlace {
			change.Membership, change.Mark = change.Membership && row.field.Membership, change.Mark && row.mark
		}
	}
	if !c.declare(change, true) {
		change.Membership, change.Mark = false, false
		return false
	}
	return true
}

// replace sets the fields that need another object, and reports whether there are any.
func (c comparisons) replace(change *plan.Change) bool { return c.declare(change, false) }

// declare sets the fields that differ, and what the change disrupts by them.
func (c comparisons) declare(change *plan.Change, inPlace bool) bool {
	for _, row := range c {
		if row.inPlace == inPlace {
			change.Fields = append(change.Fields, row.field)
			plan.Effect{Disrupts: row.field.Disrupts}.Declare(change)
		}
	}
	return len(change.Fields) > 0
}

// addCreated adds a field that is set to the creation of an object.
func addCreated(change *plan.Change, name, value string, membership bool) {
	if value != "" {
		change.Fields = append(change.Fields, plan.Field{Name: name, After: value, Membership: membership})
	}
}

// description has the parts of a row that are the same for all objects.
type description struct {
	name, group string
	effect      plan.Effect
}

type descriptions []description

// fields returns the names of the fields that disrupt.
func (d description) fields() []string {
	if len(d.effect.Fields) > 0 {
		return d.effect.Fields
	}
	return []string{d.name}
}

// with reports for each row whether it has a property by itself, or another one of its group has.
func (d descriptions) with(has func(name string) bool) []bool {
	out := make([]bool, len(d))
	for i, row := range d {
		out[i] = slices.ContainsFunc(d, func(other description) bool {
			return (other.name == row.name || row.group != "" && other.group == row.group) && has(other.name)
		})
	}
	return out
}

// changed reports for each row whether its field differs, an entry of it, or one of its group.
func (d descriptions) changed(fields plan.Fields) []bool {
	return d.with(func(name string) bool {
		return slices.ContainsFunc(fields, func(f plan.Field) bool { return plan.Difference{Field: f.Name}.IsOf(name) })
	})
}

// kept is what stays of an existing object: the values of rows, or all of it.
type kept struct {
	rows  []bool
	whole bool
}

// kept returns what stays of an existing object while differences are held; nil if none of them is of the object.
func (d descriptions) kept(kind, key string, held []plan.Difference) *kept {
	own := slices.DeleteFunc(slices.Clone(held), func(h plan.Difference) bool {
		return h.Kind != kind || h.Object != key
	})
	if len(own) == 0 {
		return nil
	}
	return &kept{
		whole: slices.ContainsFunc(own, func(h plan.Difference) bool { return h.Field == "" }),
		rows: d.with(func(name string) bool {
			return slices.ContainsFunc(own, func(h plan.Difference) bool { return h.IsOf(name) })
		}),
	}
}

// effects returns the effects of rows after that of a deletion. Fields with one description are in one effect.
func (d descriptions) effects(deletion plan.Effect) []plan.Effect {
	var effects []plan.Effect
	if deletion.Change != "" {
		effects = append(effects, deletion)
	}
	for _, row := range d {
		if row.effect.Change == "" {
			continue
		}
		i := slices.IndexFunc(effects, func(e plan.Effect) bool { return e.Change == row.effect.Change })
		if i < 0 {
			i, effects = len(effects), append(effects, row.effect)
			effects[i].Fields = nil
		}
		effects[i].Fields = append(effects[i].Fields, row.fields()...)
	}
	return effects
}
