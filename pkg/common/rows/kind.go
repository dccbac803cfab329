package rows

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Kind is a kind of cloud object with update requests: T and U are pointers, see Row.
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
func (k *Kind[T, U]) Create(want T) plan.Change {
	change := k.change(want, plan.Create)
	for _, r := range k.Rows {
		addCreated(&change, r.Name, r.Value.show(want), r.Membership)
	}
	return change
}

// Update returns the change of an object in place, and whether the two objects differ. Fields that cannot be changed in
// place are not compared: see Replace.
func (k *Kind[T, U]) Update(have, want T) (change plan.Change, differ bool) {
	change = k.change(want, plan.Update)
	differ = k.compare(have, want).update(&change)
	return change, differ
}

// Set gives an update request the wanted values of fields that differ, and of those that change only with them. In a
// cloud that takes whole objects, the request is the object as it was just read, so that all else in it stays.
func (k *Kind[T, U]) Set(request U, want T, fields plan.Fields) {
	changed := k.descriptions().changed(fields)
	for i, r := range k.Rows {
		if r.Set != nil && changed[i] {
			r.Set(request, want)
		}
	}
}

// Delete returns the change that deletes an object.
func (k *Kind[T, U]) Delete(have T) plan.Change {
	change := k.change(have, plan.Delete)
	if k.Unused == nil || !k.Unused(have) {
		k.Deletion.Declare(&change)
	}
	return change
}

// Replace returns the deletion of an object that cannot become the wanted one in place, and whether that is so. Its
// fields are those that cannot be changed.
func (k *Kind[T, U]) Replace(have, want T) (change plan.Change, replace bool) {
	change = k.change(have, plan.Delete)
	replace = k.compare(have, want).replace(&change)
	return change, replace
}

// Equal reports whether no field of two objects differs.
func (k *Kind[T, U]) Equal(have, want T) bool { return len(k.compare(have, want)) == 0 }

// Keep returns the wanted objects with the existing values of differences that are held. An object whose deletion is
// held is wanted, as it is.
func Keep[T, U any](k *Kind[*T, U], want, have []T, held []plan.Difference) []T {
	want = slices.Clone(want)
	for i := range have {
		kept := k.keep(&have[i], held)
		if kept == nil {
			continue
		}
		key := k.Key(&have[i])
		n := slices.IndexFunc(want, func(w T) bool { return k.Key(&w) == key })
		switch {
		case n < 0:
			want = append(want, have[i])
			continue
		case kept.whole:
			want[n] = have[i]
		}
		k.copy(&want[n], &have[i], kept.rows)
	}
	return want
}

// keep returns what stays of an existing object while differences are held; nil for nothing.
func (k *Kind[T, U]) keep(have T, held []plan.Difference) *kept {
	return k.descriptions().kept(k.Name, k.Key(have), held)
}

// copy gives an object the values of another in the selected rows.
func (k *Kind[T, U]) copy(to, from T, selected []bool) {
	for i, r := range k.Rows {
		if selected[i] {
			r.Value.copy(to, from)
		}
	}
}

// Effects returns what changes of the kind disrupt, for the table of the guides. Fields with one description are in one
// effect.
func (k *Kind[T, U]) Effects() []plan.Effect { return k.descriptions().effects(k.Deletion) }

// change returns a change of an object without fields.
func (k *Kind[T, U]) change(object T, action plan.Action) plan.Change {
	change := plan.Change{Ref: plan.Ref{Kind: k.Name, Name: k.Key(object), Action: action}}
	if k.Label != nil {
		change.Key, change.Name = change.Name, k.Label(object)
	}
	return change
}

// compare returns the results of the rows for two objects.
func (k *Kind[T, U]) compare(have, want T) comparisons {
	var out comparisons
	for i := range k.Rows {
		out = append(out, k.Rows[i].compare(have, want)...)
	}
	return out
}

// descriptions returns the rows without the types of the kind.
func (k *Kind[T, U]) descriptions() descriptions {
	out := make(descriptions, len(k.Rows))
	for i, r := range k.Rows {
		out[i] = description{r.Name, r.Group, r.Effect}
	}
	return out
}
