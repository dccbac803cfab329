package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Fields collects the differences of one object, for Change.Fields.
type Fields []Field

// Diff adds a field if the two texts differ, and says whether they do.
func (f *Fields) Diff(name, before, after string) bool {
	if before == after {
		return false
	}
	*f = append(*f, Field{Name: name, Before: before, After: after})
	return true
}

// DiffInt is Diff for numbers, where 0 means that nothing is set.
func (f *Fields) DiffInt(name string, before, after int) bool {
	return f.Diff(name, ShowInt(before), ShowInt(after))
}

// Has says whether the field differs.
func (f Fields) Has(name string) bool {
	return slices.ContainsFunc(f, func(one Field) bool { return one.Name == name })
}

// ShowInt shows a number, and nothing for 0.
func ShowInt(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// ShowSet shows a list whose order means nothing.
func ShowSet(items []string) string { return strings.Join(slices.Sorted(slices.Values(items)), ", ") }

// ShowMap shows keys and values in the order of the keys.
func ShowMap(m map[string]string) string {
	items := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		items = append(items, key+"="+m[key])
	}
	return strings.Join(items, ", ")
}
