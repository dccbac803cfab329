package rows

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Kind is a kind of cloud object of type T, with update requests of type U.
type Kind[T, U any] struct {
	// Name is the field's standard term for the object: see plan.Ref.
	Name string
	// Key identifies an object of the kind in all plans of one Service.
	Key func(T) string
	// Label returns the name of an object in the cloud; nil means Key.
	Label func(T) string
	// Deletion declares what the deletion of an object disrupts; of one that Unused reports, nothing. Unused may be nil.
	Deletion plan.Effect
	Unused   func(T) bool
	// Rows are the fields, in the order of plans.
	Rows []Row[T, U]
}

// Create returns the change that creates an object, with all fields that are set.
func (k Kind[T, U]) Create(want T) plan.Change {
	change := k.change(want, plan.Create)
	for _, r := range k.Rows {
		if text := r.Value.show(want); text != "" {
			change.Fields = append(change.Fields, plan.Field{Name: r.Name, After: text, Membership: r.Membership})
		}
	}
	return change
}

// Update returns the change of an object in place with its request, and whether the two objects differ. Fields that
// cannot be changed in place are not compared: see Fixed.
func (k Kind[T, U]) Update(have, want T) (change plan.Change, request U, differ bool) {
	change = k.change(want, plan.Update)
	fields := k.fields(have, want, func(r Row[T, U]) bool { return r.Set != nil })
	if len(fields) == 0 {
		return change, request, false
	}
	change.Membership, change.Mark = true, true
	for _, r := range k.Rows {
		if fields.Has(r.Name) {
			change.Membership, change.Mark = change.Membership && r.Membership, change.Mark && r.Mark
		}
	}
	k.declare(&change, fields)
	k.Set(&request, want, fields)
	return change, request, true
}

// Set gives an update request the wanted values of fields that differ, and of those that change only with them. In a
// cloud that takes whole objects, the request is the object as it was just read, so that all else in it stays.
func (k Kind[T, U]) Set(request *U, want T, fields plan.Fields) {
	for _, r := range k.Rows {
		if r.Set != nil && (fields.Has(r.Name) || r.Group != "" && k.changesGroup(fields, r.Group)) {
			r.Set(request, want)
		}
	}
}

// Delete returns the change that deletes an object.
func (k Kind[T, U]) Delete(have T) plan.Change {
	change := k.change(have, plan.Delete)
	if k.Unused == nil || !k.Unused(have) {
		k.Deletion.Declare(&change)
	}
	return change
}

// Replace returns the deletion of an object that cannot become the wanted one in place, and whether that is so. Its
// fields are those that cannot be changed.
func (k Kind[T, U]) Replace(have, want T) (change plan.Change, replace bool) {
	change = k.change(have, plan.Delete)
	fields := k.fields(have, want, func(r Row[T, U]) bool { return r.Set == nil })
	k.declare(&change, fields)
	return change, len(fields) > 0
}

// Equal reports whether no field of two objects differs.
func (k Kind[T, U]) Equal(have, want T) bool {
	return len(k.fields(have, want, func(Row[T, U]) bool { return true })) == 0
}

// Keep returns the wanted objects with the existing values of differences that are held. An object whose deletion is
// held is wanted, as it is.
func (k Kind[T, U]) Keep(want, have []T, held []plan.Difference) []T {
	want = slices.Clone(want)
	for _, h := range have {
		key := k.Key(h)
		own := slices.DeleteFunc(slices.Clone(held), func(d plan.Difference) bool {
			return d.Kind != k.Name || d.Object != key
		})
		if len(own) == 0 {
			continue
		}
		i := slices.IndexFunc(want, func(w T) bool { return k.Key(w) == key })
		switch whole := slices.ContainsFunc(own, func(d plan.Difference) bool { return d.Field == "" }); {
		case i < 0:
			want = append(want, h)
			continue
		case whole:
			want[i] = h
		}
		for _, r := range k.Rows {
			if r.isKept(k.Rows, own) {
				r.Value.copy(&want[i], h)
			}
		}
	}
	return want
}

// Effects returns what changes of the kind disrupt, for the table of the guides. Fields with one description are in one
// effect.
func (k Kind[T, U]) Effects() []plan.Effect {
	var effects []plan.Effect
	if k.Deletion.Change != "" {
		effects = append(effects, k.Deletion)
	}
	for _, r := range k.Rows {
		if r.Effect.Change == "" {
			continue
		}
		i := slices.IndexFunc(effects, func(e plan.Effect) bool { return e.Change == r.Effect.Change })
		if i < 0 {
			i, effects = len(effects), append(effects, r.Effect)
			effects[i].Fields = nil
		}
		effects[i].Fields = append(effects[i].Fields, r.Name)
	}
	return effects
}

// change returns a change of an object without fields.
func (k Kind[T, U]) change(object T, action plan.Action) plan.Change {
	change := plan.Change{Ref: plan.Ref{Kind: k.Name, Name: k.Key(object), Action: action}}
	if k.Label != nil {
		change.Key, change.Name = change.Name, k.Label(object)
	}
	return change
}

// fields returns the differences of two objects in some rows.
func (k Kind[T, U]) fields(have, want T, included func(Row[T, U]) bool) plan.Fields {
	var fields plan.Fields
	for _, r := range k.Rows {
		if !included(r) {
			continue
		}
		if f, differ := r.field(have, want); differ {
			fields = append(fields, f)
		}
	}
	return fields
}

// declare sets the fields of a change, which disrupts what its fields do.
func (k Kind[T, U]) declare(change *plan.Change, fields plan.Fields) {
	change.Fields = fields
	for _, f := range fields {
		plan.Effect{Disrupts: f.Disrupts}.Declare(change)
	}
}

// changesGroup reports whether differences include a field of a group.
func (k Kind[T, U]) changesGroup(fields plan.Fields, group string) bool {
	return slices.ContainsFunc(k.Rows, func(r Row[T, U]) bool { return r.Group == group && fields.Has(r.Name) })
}
