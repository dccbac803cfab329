package core

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The fields of a view have the names of their filters in the tag "filter", separated by commas. In a struct or a list
// of structs the tag is a prefix of the names of its fields, and may be empty.

// CheckFilters rejects filters that a view does not have.
func CheckFilters[V any](filters []Filter) error {
	paths := filterPaths(reflect.TypeFor[V]())
	for _, f := range filters {
		if _, ok := paths[f.Name]; !ok {
			return InvalidValue("The filter '%s' is invalid", f.Name)
		}
	}
	return nil
}

// MatchesFilters reports whether a view matches all filters.
func MatchesFilters(view any, filters []Filter) bool {
	v := reflect.ValueOf(view)
	paths := filterPaths(v.Type())
	for _, f := range filters {
		var values []string
		for _, path := range paths[f.Name] {
			values = appendValues(values, v, path)
		}
		if !matchesAny(f.Value, values) {
			return false
		}
	}
	return true
}

// FilterViews returns the views that match the filters of a request without IDs.
func FilterViews[V any](views []V, filters []Filter) ([]V, error) {
	if err := (Selection{Filter: filters}).Check(); err != nil {
		return nil, err
	}
	if err := CheckFilters[V](filters); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(views, func(v V) bool { return !MatchesFilters(v, filters) }), nil
}

// pathCache holds the result of filterPaths by type.
var pathCache sync.Map

// filterPaths returns the indices of fields that lead to the values of each filter of a type.
func filterPaths(t reflect.Type) map[string][][]int {
	if cached, ok := pathCache.Load(t); ok {
		return cached.(map[string][][]int)
	}
	out := map[string][][]int{}
	addPaths(out, t, "", nil)
	pathCache.Store(t, out)
	return out
}

func addPaths(out map[string][][]int, t reflect.Type, prefix string, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		fieldPath := append(slices.Clone(path), i)
		tag, tagged := f.Tag.Lookup("filter")
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		switch {
		case inner.Kind() == reflect.Struct && (tagged || f.Anonymous || f.Name == "Item"):
			addPaths(out, inner, prefix+tag, fieldPath)
		case tagged:
			for name := range strings.SplitSeq(tag, ",") {
				out[prefix+name] = append(out[prefix+name], fieldPath)
			}
		}
	}
}

// appendValues appends the values at a path to out. An empty text is no value.
func appendValues(out []string, v reflect.Value, path []int) []string {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			out = appendValues(out, v.Index(i), path)
		}
		return out
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return out
		}
		return appendValues(out, v.Elem(), path)
	case len(path) > 0:
		return appendValues(out, v.Field(path[0]), path[1:])
	}
	if text := fmt.Sprint(v.Interface()); text != "" {
		return append(out, text)
	}
	return out
}

// splitFilters returns the filters by tags, and those by fields.
func splitFilters(filters []Filter) (tags, fields []Filter) {
	for _, f := range filters {
		if f.Name == "tag-key" || f.Name == "tag-value" || strings.HasPrefix(f.Name, "tag:") {
			tags = append(tags, f)
		} else {
			fields = append(fields, f)
		}
	}
	return tags, fields
}

func matchesTags(tags map[string]string, filters []Filter) bool {
	return !slices.ContainsFunc(filters, func(f Filter) bool { return !matchesAny(f.Value, tagValues(tags, f.Name)) })
}

func tagValues(tags map[string]string, name string) []string {
	if name == "tag-key" {
		return slices.Collect(maps.Keys(tags))
	}
	if name == "tag-value" {
		return slices.Collect(maps.Values(tags))
	}
	if v, ok := tags[strings.TrimPrefix(name, "tag:")]; ok {
		return []string{v}
	}
	return nil
}

func matchesAny(patterns, values []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(values, func(value string) bool { return matches(pattern, value) })
	})
}

// matches compares with the wildcards of EC2's filters: * and ?, which a backslash makes literal.
func matches(pattern, text string) bool {
	if !strings.ContainsAny(pattern, `*?\`) {
		return pattern == text
	}
	var expression strings.Builder
	expression.WriteString(`(?s)^`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			expression.WriteString(`.*`)
		case c == '?':
			expression.WriteString(`.`)
		case c == '\\' && i+1 < len(pattern):
			i++
			expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	expression.WriteString(`$`)
	re, err := regexp.Compile(expression.String())
	return err == nil && re.MatchString(text)
}
