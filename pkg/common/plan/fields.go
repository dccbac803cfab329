package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fields collects the differences of one object, for Change.Fields.
type Fields []Field

// Diff adds a field if the two texts differ, and reports whether they do.
func (f *Fields) Diff(name, before, after string) bool {
	if before == after {
		return false
	}
	*f = append(*f, Field{Name: name, Before: before, After: after})
	return true
}

// Has reports whether the field differs.
func (f Fields) Has(name string) bool {
	return slices.ContainsFunc(f, func(one Field) bool { return one.Name == name })
}

// ShowInt formats a number, and returns "" for 0, with which clouds report an unset value.
func ShowInt[N int | int32 | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// ShowSet formats a list without regard to its order.
func ShowSet(items []string) string { return strings.Join(slices.Sorted(slices.Values(items)), ", ") }

// ShowMap formats keys and values in the order of the keys.
func ShowMap(m map[string]string) string {
	items := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		items = append(items, key+"="+m[key])
	}
	return strings.Join(items, ", ")
}
