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

// page returns one page of what the filter selects, and the token of the next one, "" for the last.
func page[T Entity](l lister, list []T) ([]T, string, error) {
	var kept []T
	for _, x := range list {
		ok, err := l.filter.matches(x)
		if err != nil {
			return nil, "", err
		}
		if ok {
			kept = append(kept, x)
		}
	}
	if l.desc {
		slices.SortStableFunc(kept, func(a, b T) int {
			return cmp.Compare(b.Base().CreationTimestamp, a.Base().CreationTimestamp)
		})
	}
	kept = kept[min(l.after, len(kept)):]
	if len(kept) <= l.size {
		return kept, "", nil
	}
	return kept[:l.size], base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(l.after + l.size))), nil
}

// withToken adds the token of the next page to a list.
func withToken(body map[string]any, token string) map[string]any {
	if token != "" {
		body["nextPageToken"] = token
	}
	return body
}

// ListParameters are the query parameters of lists.
func ListParameters() []string { return slices.Clone(listParameters) }

// List answers a call with a page of a list.
func List[T Entity](k *Call, kind, path string, all []T) (any, error) {
	l, err := newLister(k)
	if err != nil {
		return nil, err
	}
	items, token, err := page(l, all)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"kind": kind, "id": path, "selfLink": Canonical + path}
	if len(items) > 0 {
		body["items"] = items
	}
	return withToken(body, token), nil
}

// aggregate answers a list over the scopes, of those resources that the call may see.
func aggregate[T Entity](s *State, k *Call, kind, collection string, scopes []string, all []T) (any, error) {
	l, err := newLister(k)
	if err != nil {
		return nil, err
	}
	partial := k.Query.Get("returnPartialSuccess") == "true"
	var unreachable []string
	for _, scope := range scopes {
		if s.isDisrupted(scope) && !partial {
			return nil, ErrUnavailable("Scope '" + scope + "'")
		} else if s.isDisrupted(scope) {
			unreachable = append(unreachable, scope)
		}
	}
	all = slices.DeleteFunc(all, func(x T) bool { return s.isDisrupted(x.Ref().Scope) })
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(a.Ref().Scope, b.Ref().Scope) })
	items, token, err := page(l, all)
	if err != nil {
		return nil, err
	}
	byScope := map[string]any{}
	for _, scope := range scopes {
		byScope[scope] = scoped(s, scope, collection, items)
	}
	path := "projects/" + k.Project() + "/aggregated/" + collection
	body := map[string]any{"kind": kind, "id": path, "selfLink": Canonical + path, "items": byScope}
	if len(unreachable) > 0 {
		body["unreachables"] = unreachable
	}
	return withToken(body, token), nil
}

// scoped returns the part of an aggregated list for one scope.
func scoped[T Entity](s *State, scope, collection string, items []T) any {
	var here []T
	for _, x := range items {
		if x.Ref().Scope == scope {
			here = append(here, x)
		}
	}
	code, message := "NO_RESULTS_ON_PAGE", "There are no results for scope '"+scope+"' on this page."
	switch {
	case s.isDisrupted(scope):
		code, message = "UNREACHABLE", "The scope '"+scope+"' is unreachable."
	case len(here) > 0:
		return map[string]any{collection: here}
	}
	return map[string]any{"warning": map[string]any{"code": code, "message": message,
		"data": []any{map[string]any{"key": "scope", "value": scope}}}}
}
