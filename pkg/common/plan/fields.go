package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// maxMembers is the maximum number of members that a plan lists one by one.
const maxMembers = 10

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
	return slices.ContainsFunc(f, func(field Field) bool { return field.Name == name })
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

// ShowMembers lists members, or counts them if there are many.
func ShowMembers(members []string) string {
	if len(members) > maxMembers {
		return fmt.Sprintf("%d members", len(members))
	}
	return ShowSet(members)
}

// ShowMembersChange formats two sets of members: completely if both are small, else by their numbers and the members
// that join (+) and leave (-).
func ShowMembersChange(before, after []string) (string, string) {
	if len(before) <= maxMembers && len(after) <= maxMembers {
		return ShowSet(before), ShowSet(after)
	}
	previous, current := sets.New(before...), sets.New(after...)
	joining, leaving := current.Difference(previous), previous.Difference(current)
	changes := slices.Concat(signMembers("+", joining), signMembers("-", leaving))
	return fmt.Sprintf("%d members", len(before)),
		strings.TrimSpace(fmt.Sprintf("%s (%d members)", strings.Join(changes, " "), len(after)))
}

// signMembers returns members behind a sign, or their number if there are many.
func signMembers(sign string, members sets.Set[string]) []string {
	if len(members) > maxMembers {
		return []string{fmt.Sprintf("%s%d members", sign, len(members))}
	}
	list := sets.List(members)
	for i := range list {
		list[i] = sign + list[i]
	}
	return list
}

// ShowMap formats keys and values in the order of the keys.
func ShowMap(m map[string]string) string {
	items := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		items = append(items, key+"="+m[key])
	}
	return strings.Join(items, ", ")
}
