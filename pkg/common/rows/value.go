package rows

import (
	"fmt"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Value accesses one field of objects. T is a pointer: see Row.
type Value[T any] struct {
	// show returns the text of the value in plans; empty for an unset one.
	show func(T) string
	// change returns the texts of two values, which may differ; nil means those of show.
	change func(have, want T) (before, after string)
	// equal reports whether two objects have the same value; nil compares the texts.
	equal func(have, want T) bool
	// entries returns the texts of a value whose entries are fields of their own, by their keys; nil if it is one field.
	entries func(T) map[string]string
	// copy gives an object the value of another.
	copy func(to, from T)
}

// Of returns the Value of a field whose address field returns, with the text that show returns.
func Of[T, V any](show func(V) string, field func(T) *V) Value[T] {
	return Value[T]{
		show: func(object T) string { return show(*field(object)) },
		copy: func(to, from T) { *field(to) = *field(from) },
	}
}

// Custom returns a Value that is not one field of a struct. The function set gives an object the value of another.
func Custom[T any](show func(T) string, set func(to, from T)) Value[T] {
	return Value[T]{show: show, copy: set}
}

// Text returns the Value of a string.
func Text[T any](field func(T) *string) Value[T] {
	return Of(func(s string) string { return s }, field)
}

// Number returns the Value of a number. The text of 0, with which clouds report an unset value, is empty.
func Number[T any, N int | int32 | int64](field func(T) *N) Value[T] {
	return Of(plan.ShowInt[N], field)
}

// Amount returns the Value of a number for which 0 is a value as any other. Only creations omit it.
func Amount[T any, N int | int32 | int64](field func(T) *N) Value[T] {
	v := Number(field)
	v.change = func(have, want T) (string, string) { return fmt.Sprint(*field(have)), fmt.Sprint(*field(want)) }
	return v
}

// Set returns the Value of a list without an order.
func Set[T any](field func(T) *[]string) Value[T] {
	v := Of(plan.ShowSet, field)
	v.copy = func(to, from T) { *field(to) = slices.Clone(*field(from)) }
	return v
}

// Map returns the Value of keys with values.
func Map[T any](field func(T) *map[string]string) Value[T] {
	v := Of(plan.ShowMap, field)
	v.copy = func(to, from T) { *field(to) = maps.Clone(*field(from)) }
	return v
}

// Entries returns the Value of a map whose entries are fields of their own, such as the subnets of zones. The name of a
// field is the row's and the key, or the key in a row without a name. The function texts returns the entries, set gives
// an object all entries of another. Single entries are kept by the cloud itself.
func Entries[T any](texts func(T) map[string]string, set func(to, from T)) Value[T] {
	show := func(object T) string { return plan.ShowSet(slices.Collect(maps.Values(texts(object)))) }
	return Value[T]{show: show, entries: texts, copy: set}
}

// Members returns the Value of a set of members, each with the text that show returns. The text of a change names the
// members that join and leave, and many members are counted.
func Members[T, M any](show func(M) string, field func(T) *[]M) Value[T] {
	texts := func(object T) []string {
		var texts []string
		for _, member := range *field(object) {
			texts = append(texts, show(member))
		}
		slices.Sort(texts)
		return texts
	}
	return Value[T]{
		show: func(object T) string { return plan.ShowMembers(texts(object)) },
		change: func(have, want T) (string, string) {
			return plan.ShowMembersChange(texts(have), texts(want))
		},
		equal: func(have, want T) bool { return slices.Equal(texts(have), texts(want)) },
		copy:  func(to, from T) { *field(to) = slices.Clone(*field(from)) },
	}
}

// texts returns the texts of a change, and whether the values differ.
func (v Value[T]) texts(have, want T) (before, after string, differ bool) {
	if v.equal != nil && v.equal(have, want) {
		return "", "", false
	}
	if v.change != nil {
		before, after = v.change(have, want)
	} else {
		before, after = v.show(have), v.show(want)
	}
	return before, after, v.equal != nil || before != after
}

// NonNil returns a pointer to a copy of a list, for an update request that empties a list only if it is not nil.
func NonNil[E any](list []E) *[]E {
	list = append([]E{}, list...)
	return &list
}
