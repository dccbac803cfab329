// Package sorting sorts slices of any type by code that all types share. Package slices is compiled once for each
// type of elements, at 15 to 40 KB of the binary each.
package sorting

import (
	"iter"
	"slices"
	"sort"
)

// Func sorts a slice, as slices.SortFunc does.
func Func[T any](list []T, compare func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// StableFunc sorts a slice and keeps the order of equal elements, as slices.SortStableFunc does.
func StableFunc[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

// SortedFunc returns the values of a sequence, sorted. It keeps the order of equal ones.
func SortedFunc[T any](values iter.Seq[T], compare func(a, b T) int) []T {
	list := slices.Collect(values)
	StableFunc(list, compare)
	return list
}
