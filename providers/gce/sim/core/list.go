package core

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
)

// maxPage is the largest and the default size of a page.
const maxPage = 500

// Parameters of lists.
var (
	listParameters       = []string{"filter", "maxResults", "orderBy", "pageToken", "returnPartialSuccess"}
	aggregatedParameters = append([]string{"includeAllScopes", "serviceProjectNumber"}, listParameters...)
)

// lister filters, sorts and pages resources.
type lister struct {
	filter filter
	size   int
	// after is the number of resources on earlier pages.
	after int
	desc  bool
}

func newLister(k *Call) (l lister, err error) {
	if l.filter, err = parseFilter(k.Query.Get("filter")); err != nil {
		return l, err
	}
	l.size = maxPage
	if text := k.Query.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxPage {
			return l, Invalid("maxResults", text, "Values must be within the range: [0, 500]")
		}
		if n > 0 {
			l.size = n
		}
	}
	switch order := k.Query.Get("orderBy"); order {
	case "", "name":
	case "creationTimestamp desc":
		l.desc = true
	default:
		return l, Invalid("orderBy", order, "Only sorting by name or creationTimestamp desc is supported.")
	}
	if token := k.Query.Get("pageToken"); token != "" {
		raw, err := base64.StdEncoding.DecodeString(token)
		if err == nil {
			l.after, err = strconv.Atoi(string(raw))
		}
		if err != nil {
			return l, Invalid("pageToken", token, "The page token is invalid.")
		}
	}
	return l, nil
}

// ListParameters are the query parameters of lists.
func ListParameters() []string { return slices.Clone(listParameters) }

// List answers a call with a page of a list.
func List[T Entity](k *Call, kind, path string, all []T) (map[string]any, error) {
	l, err := newLister(k)
	if err != nil {
		return nil, err
	}
	var items []T
	for _, x := range all {
		ok, err := l.filter.matches(x)
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, x)
		}
	}
	if l.desc {
		slices.SortStableFunc(items, func(a, b T) int {
			return cmp.Compare(b.Base().CreationTimestamp, a.Base().CreationTimestamp)
		})
	}
	body := map[string]any{"kind": kind, "id": path, "selfLink": Canonical + path}
	if items = items[min(l.after, len(items)):]; len(items) > l.size {
		items = items[:l.size]
		body["nextPageToken"] = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(l.after + l.size)))
	}
	if len(items) > 0 {
		body["items"] = items
	}
	return body, nil
}

// in returns the visible resources of a project in scopes.
func (c Collection[T]) in(project string, scopes []string) []T {
	var out []T
	for _, x := range All[T](c.State, c.Name) {
		if r := x.Ref(); r.Project == project && slices.Contains(scopes, r.Scope) && x.Base().IsVisible() {
			out = append(out, c.show(x))
		}
	}
	return out
}

func (c Collection[T]) list(k *Call) (any, error) {
	scope := c.refOf(k).Scope
	if c.State.isDisrupted(scope) {
		return nil, ErrUnavailable("Scope '" + scope + "'")
	}
	path := Ref{k.Project(), scope, c.Name, ""}.String()
	return List(k, c.kind()+"List", path, c.in(k.Project(), []string{scope}))
}

// aggregated answers with a list over all scopes that are not disrupted.
func (c Collection[T]) aggregated(k *Call) (any, error) {
	scopes := c.allScopes()
	var reached, unreachable []string
	for _, scope := range scopes {
		if c.State.isDisrupted(scope) {
			unreachable = append(unreachable, scope)
		} else {
			reached = append(reached, scope)
		}
	}
	if len(unreachable) > 0 && k.Query.Get("returnPartialSuccess") != "true" {
		return nil, ErrUnavailable("Scope '" + unreachable[0] + "'")
	}
	all := c.in(k.Project(), reached)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(a.Ref().Scope, b.Ref().Scope) })
	body, err := List(k, cmp.Or(c.Aggregated, c.kind()+"AggregatedList"),
		"projects/"+k.Project()+"/aggregated/"+c.Name, all)
	if err != nil {
		return nil, err
	}
	items, _ := body["items"].([]T)
	byScope := map[string]any{}
	for _, scope := range scopes {
		byScope[scope] = c.scoped(scope, items)
	}
	body["items"] = byScope
	if len(unreachable) > 0 {
		body["unreachables"] = unreachable
	}
	return body, nil
}

// allScopes returns the scopes of an aggregated list.
func (c Collection[T]) allScopes() []string {
	var out []string
	if c.Scope == "zones" {
		for _, zone := range c.State.Options.AllZones() {
			out = append(out, "zones/"+zone)
		}
		return out
	}
	if c.Name != "subnetworks" && c.Name != "targetPools" {
		out = append(out, ScopeGlobal)
	}
	for _, region := range c.State.Options.Regions() {
		out = append(out, "regions/"+region)
	}
	return out
}

// scoped returns the part of an aggregated list for one scope.
func (c Collection[T]) scoped(scope string, items []T) any {
	here := slices.DeleteFunc(slices.Clone(items), func(x T) bool { return x.Ref().Scope != scope })
	if len(here) > 0 {
		return map[string]any{c.Name: here}
	}
	code, message := "NO_RESULTS_ON_PAGE", "There are no results for scope '"+scope+"' on this page."
	if c.State.isDisrupted(scope) {
		code, message = "UNREACHABLE", "The scope '"+scope+"' is unreachable."
	}
	return map[string]any{"warning": map[string]any{"code": code, "message": message,
		"data": []any{map[string]any{"key": "scope", "value": scope}}}}
}
