package core

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Filter decides by the values of a query parameter whether to list an object.
type Filter[T any] func(x T, values []string) bool

// Listing lists objects of one kind.
type Listing[T Entity] struct {
	Plural string
	// filters besides those by field. A nil one disables the field of its name.
	filters map[string]Filter[T]
}

// pagingParameters are parameters of lists that are not filters.
var pagingParameters = []string{"fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir", "sort"}

// Answer filters, sorts and pages objects, and selects their fields.
func (l Listing[T]) Answer(t *Tx, objects []T) (any, error) {
	q := t.Call.Query
	if of := q.Get("project_id"); of != "" && t.Call.Service == ServiceLoadBalancer && !t.Call.May(of) {
		return nil, ErrPolicy()
	}
	for _, name := range SortedKeys(q) {
		if slices.Contains(pagingParameters, name) {
			continue
		}
		keep, err := l.filterBy(t, name, q[name])
		if err != nil {
			return nil, err
		}
		objects = Only(objects, keep)
	}
	if err := l.sort(t, objects); err != nil {
		return nil, err
	}
	page, links, err := Paged(t, objects, l.limit(t))
	if err != nil {
		return nil, err
	}
	out := map[string]any{l.Plural: picked(page, q["fields"])}
	if t.Call.Service == ServiceLoadBalancer || len(links) > 0 {
		out[l.Plural+"_links"] = links
	}
	return out, nil
}

// limit returns the maximum page size of a service; 0 means unlimited.
func (Listing[T]) limit(t *Tx) int {
	if t.Call.Service == ServiceNetwork {
		return 0
	}
	return 1000
}

func (l Listing[T]) filterBy(t *Tx, name string, values []string) (func(T) bool, error) {
	if name == "id" && len(values) > 1 && t.Call.Service == ServiceLoadBalancer {
		return nil, Refuse(http.StatusInternalServerError, "", "Internal Server Error") // Octavia fails here.
	}
	if name != "id" && slices.Contains(t.Hidden,
		strings.TrimPrefix(strings.TrimSuffix(name, "-any"), "not-")) {
		return func(T) bool { return true }, nil // Neutron ignores the filters of a missing extension.
	}
	f, special := l.filters[name]
	if !special {
		f = tagFilters[T]()[name]
	}
	if f != nil {
		return func(x T) bool { return f(x, values) }, nil
	}
	index, known := fieldIndex[T](name)
	if special || !known {
		if t.Call.Service == ServiceNetwork {
			return func(T) bool { return true }, nil // Neutron ignores unknown parameters.
		}
		return nil, Refuse(http.StatusBadRequest, "", "One or more arguments are either duplicate or invalid")
	}
	return func(x T) bool {
		have := texts(reflect.ValueOf(x).Elem().FieldByIndex(index))
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(have, normal(v)) })
	}, nil
}

// tagFilters returns the four ways to select by tags, each a comma-separated list.
func tagFilters[T any]() map[string]Filter[T] {
	count := func(x T, values []string) (has, of int) {
		index, _ := fieldIndex[T]("tags")
		if index == nil {
			return 0, len(values)
		}
		tags, _ := reflect.ValueOf(x).Elem().FieldByIndex(index).Interface().([]string)
		for _, v := range values {
			for tag := range strings.SplitSeq(v, ",") {
				of++
				if slices.Contains(tags, tag) {
					has++
				}
			}
		}
		return has, of
	}
	return map[string]Filter[T]{
		"tags":         func(x T, v []string) bool { has, of := count(x, v); return has == of },
		"tags-any":     func(x T, v []string) bool { has, _ := count(x, v); return has > 0 },
		"not-tags":     func(x T, v []string) bool { has, of := count(x, v); return has < of },
		"not-tags-any": func(x T, v []string) bool { has, _ := count(x, v); return has == 0 },
	}
}

// fieldIndex finds the field of a pointer's struct by its name in JSON.
func fieldIndex[T any](name string) ([]int, bool) {
	f, ok := FieldsOf(reflect.TypeFor[T]().Elem())[name]
	return f.Index, ok
}

// texts returns a field's values in the format of queries.
func texts(v reflect.Value) []string {
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Bool:
		return []string{strconv.FormatBool(v.Bool())}
	case reflect.Int:
		return []string{strconv.FormatInt(v.Int(), 10)}
	case reflect.Pointer:
		if v.IsNil() {
			return []string{""}
		}
		return texts(v.Elem())
	case reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, texts(v.Index(i))...)
		}
		return out
	case reflect.Struct:
		if id := v.FieldByName("ID"); id.IsValid() {
			return texts(id)
		}
	}
	return nil
}

// normal converts a boolean of Python to that of Go.
func normal(v string) string {
	switch v {
	case "True", "TRUE":
		return "true"
	case "False", "FALSE":
		return "false"
	}
	return v
}

func (Listing[T]) sort(t *Tx, objects []T) error {
	q := t.Call.Query
	keys, dirs := q["sort_key"], q["sort_dir"]
	if both := q.Get("sort"); both != "" {
		keys, dirs = nil, nil
		for one := range strings.SplitSeq(both, ",") {
			key, dir, _ := strings.Cut(one, ":")
			keys, dirs = append(keys, key), append(dirs, dir)
		}
	}
	for i := len(keys) - 1; i >= 0; i-- {
		index, ok := fieldIndex[T](keys[i])
		if !ok {
			return BadBody(t.Call.Service, "Supplied sort key '%s' is not valid.", keys[i])
		}
		descending := i < len(dirs) && dirs[i] == "desc"
		slices.SortStableFunc(objects, func(a, b T) int {
			c := slices.Compare(texts(reflect.ValueOf(a).Elem().FieldByIndex(index)),
				texts(reflect.ValueOf(b).Elem().FieldByIndex(index)))
			if descending {
				return -c
			}
			return c
		})
	}
	return nil
}

// Link is a link in a response.
type Link struct {
	Rel  string `json:"rel"`
	HRef string `json:"href"`
}

// Paged returns the requested page of a list. most is the maximum size; 0 means unlimited.
func Paged[T Entity](t *Tx, objects []T, most int) (page []T, links []Link, err error) {
	q, links := t.Call.Query, []Link{}
	limit := most
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, nil, BadBody(t.Call.Service, "Supplied pagination limit '%s' is not valid.", text)
		}
		if n > 0 && (most == 0 || n < most) {
			limit = n
		}
	}
	from := 0
	if marker := q.Get("marker"); marker != "" {
		at := slices.IndexFunc(objects, func(x T) bool { return x.Meta().ID == marker })
		if at < 0 {
			if t.Call.Service == ServiceNetwork {
				return nil, nil, Refuse(http.StatusNotFound, "PortNotFound", "Port %s could not be found.", marker)
			}
			return nil, nil, BadBody(t.Call.Service, "Supplied pagination marker '%s' is not valid.", marker)
		}
		from = at + 1
	}
	page = objects[from:]
	if limit > 0 && len(page) >= limit {
		page = page[:limit]
		links = append(links, Link{Rel: "next", HRef: t.pageURL(page[limit-1].Meta().ID, limit)})
	}
	if from > 0 && len(page) > 0 && t.Call.Service != ServiceCompute {
		q := url.Values{"page_reverse": {"True"}}
		links = append(links, Link{Rel: "previous", HRef: t.pageURL(page[0].Meta().ID, limit) + "&" + q.Encode()})
	}
	return page, links, nil
}

// pageURL returns the request with another marker.
func (t *Tx) pageURL(marker string, limit int) string {
	q := url.Values{}
	for name, values := range t.Call.Query {
		q[name] = values
	}
	q.Set("marker", marker)
	q.Set("limit", strconv.Itoa(limit))
	q.Del("page_reverse")
	return t.Call.Base + t.Call.Path + "?" + q.Encode()
}

// picked returns objects with the selected fields; without a selection, with all.
func picked[T any](objects []T, fields []string) any {
	if objects == nil {
		objects = []T{}
	}
	if len(fields) == 0 {
		return objects
	}
	var all []string
	for _, f := range fields {
		all = append(all, strings.Split(f, ",")...)
	}
	out := make([]map[string]any, 0, len(objects))
	for _, x := range objects {
		have := AsMap(x)
		one := map[string]any{}
		for _, f := range all {
			if v, ok := have[f]; ok {
				one[f] = v
			}
		}
		out = append(out, one)
	}
	return out
}

// show returns the response with one object. The query may select fields.
func show[T any](t *Tx, singular string, x T) any {
	fields := t.Call.Query["fields"]
	if len(fields) == 0 {
		return map[string]any{singular: x}
	}
	list, _ := picked([]T{x}, fields).([]map[string]any)
	return map[string]any{singular: list[0]}
}

// AsMap returns an object as JSON.
func AsMap(x any) map[string]any {
	out := map[string]any{}
	// All objects are plain structs, which always encode.
	if raw, err := json.Marshal(x); err == nil {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// SortedKeys returns the keys of a map, sorted.
func SortedKeys[K cmp.Ordered, V any, M ~map[K]V](m M) []K { return slices.Sorted(maps.Keys(m)) }
