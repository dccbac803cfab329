package core

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Filter reports whether an object matches the values of a query parameter.
type Filter[T any] func(x T, values []string) bool

// Listing lists objects of one kind.
type Listing[T Entity] struct {
	Plural string
	// filters are the filters other than those by field. A nil one disables the field of its name.
	filters map[string]Filter[T]
}

// pagingParameters are parameters of lists that are not filters.
var pagingParameters = []string{"fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir", "sort"}

// Response filters, sorts and pages objects, and selects their fields.
func (l Listing[T]) Response(t *Tx, objects []T) (any, error) {
	q := t.Call.Query
	if project := q.Get("project_id"); project != "" && t.Call.Service == ServiceLoadBalancer && !t.Call.May(project) {
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
	page, links, err := Page(t, objects, l.limit(t))
	if err != nil {
		return nil, err
	}
	out := map[string]any{l.Plural: selectFields(page, q["fields"])}
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
	if name != "id" && slices.Contains(t.Hidden, strings.TrimPrefix(strings.TrimSuffix(name, "-any"), "not-")) {
		return func(T) bool { return true }, nil // Neutron ignores the filters of a missing extension.
	}
	f, special := l.filters[name]
	if !special {
		f = tagFilters[T]()[name]
	}
	if f != nil {
		return func(x T) bool { return f(x, values) }, nil
	}
	index, isField := fieldIndex[T](name)
	if special || !isField {
		if t.Call.Service == ServiceNetwork {
			return func(T) bool { return true }, nil // Neutron ignores unknown parameters.
		}
		return nil, Refuse(http.StatusBadRequest, "", "One or more arguments are either duplicate or invalid")
	}
	return func(x T) bool {
		fieldValues := queryValues(reflect.ValueOf(x).Elem().FieldByIndex(index))
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(fieldValues, normalized(v)) })
	}, nil
}

// tagFilters returns the four filters by tags, each a comma-separated list.
func tagFilters[T any]() map[string]Filter[T] {
	count := func(x T, values []string) (found, total int) {
		index, _ := fieldIndex[T]("tags")
		if index == nil {
			return 0, len(values)
		}
		tags, _ := reflect.ValueOf(x).Elem().FieldByIndex(index).Interface().([]string)
		for _, v := range values {
			for tag := range strings.SplitSeq(v, ",") {
				total++
				if slices.Contains(tags, tag) {
					found++
				}
			}
		}
		return found, total
	}
	return map[string]Filter[T]{
		"tags":         func(x T, v []string) bool { found, total := count(x, v); return found == total },
		"tags-any":     func(x T, v []string) bool { found, _ := count(x, v); return found > 0 },
		"not-tags":     func(x T, v []string) bool { found, total := count(x, v); return found < total },
		"not-tags-any": func(x T, v []string) bool { found, _ := count(x, v); return found == 0 },
	}
}

// fieldIndex finds the field of a pointer's struct by its name in JSON.
func fieldIndex[T any](name string) ([]int, bool) {
	f, ok := FieldsOf(reflect.TypeFor[T]().Elem())[name]
	return f.Index, ok
}

// queryValues returns a field's values in the format of queries.
func queryValues(v reflect.Value) []string {
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
		return queryValues(v.Elem())
	case reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, queryValues(v.Index(i))...)
		}
		return out
	case reflect.Struct:
		if id := v.FieldByName("ID"); id.IsValid() {
			return queryValues(id)
		}
	}
	return nil
}

// normalized returns a value of a query with booleans as Go formats them.
func normalized(v string) string {
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
	if list := q.Get("sort"); list != "" {
		keys, dirs = nil, nil
		for entry := range strings.SplitSeq(list, ",") {
			key, dir, _ := strings.Cut(entry, ":")
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
			c := slices.Compare(queryValues(reflect.ValueOf(a).Elem().FieldByIndex(index)),
				queryValues(reflect.ValueOf(b).Elem().FieldByIndex(index)))
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

// Page returns the requested page of a list. maxSize is the maximum size; 0 means unlimited.
func Page[T Entity](t *Tx, objects []T, maxSize int) (page []T, links []Link, err error) {
	q, links := t.Call.Query, []Link{}
	limit := maxSize
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, nil, BadBody(t.Call.Service, "Supplied pagination limit '%s' is not valid.", text)
		}
		if n > 0 && (maxSize == 0 || n < maxSize) {
			limit = n
		}
	}
	start := 0
	if marker := q.Get("marker"); marker != "" {
		i := slices.IndexFunc(objects, func(x T) bool { return x.Meta().ID == marker })
		if i < 0 {
			if t.Call.Service == ServiceNetwork {
				return nil, nil, Refuse(http.StatusNotFound, "PortNotFound", "Port %s could not be found.", marker)
			}
			return nil, nil, BadBody(t.Call.Service, "Supplied pagination marker '%s' is not valid.", marker)
		}
		start = i + 1
	}
	page = objects[start:]
	if limit > 0 && len(page) >= limit {
		page = page[:limit]
		links = append(links, Link{Rel: "next", HRef: t.pageURL(page[limit-1].Meta().ID, limit)})
	}
	if start > 0 && len(page) > 0 && t.Call.Service != ServiceCompute {
		links = append(links, Link{Rel: "previous", HRef: t.pageURL(page[0].Meta().ID, limit) + "&page_reverse=True"})
	}
	return page, links, nil
}

// pageURL returns the request with another marker.
func (t *Tx) pageURL(marker string, limit int) string {
	q := maps.Clone(t.Call.Query)
	q.Set("marker", marker)
	q.Set("limit", strconv.Itoa(limit))
	q.Del("page_reverse")
	return t.Call.Base + t.Call.Path + "?" + q.Encode()
}

// selectFields returns objects with some fields; without a selection, with all.
func selectFields[T any](objects []T, fields []string) any {
	if objects == nil {
		objects = []T{}
	}
	if len(fields) == 0 {
		return objects
	}
	names := strings.Split(strings.Join(fields, ","), ",")
	out := make([]map[string]any, 0, len(objects))
	for _, x := range objects {
		selected := AsMap(x)
		maps.DeleteFunc(selected, func(name string, _ any) bool { return !slices.Contains(names, name) })
		out = append(out, selected)
	}
	return out
}

// show returns the response with one object, with the fields that the query selects.
func show[T any](t *Tx, singular string, x T) any {
	fields := t.Call.Query["fields"]
	if len(fields) == 0 {
		return map[string]any{singular: x}
	}
	list, _ := selectFields([]T{x}, fields).([]map[string]any)
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
