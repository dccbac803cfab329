package core

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
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

// SelectFields returns the parts of a body that the query parameter fields names: kind,items(name,zone/x).
func SelectFields(selector string, body any) (any, error) {
	if selector == "" {
		return body, nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	p := selectorParser{text: selector}
	fields := p.list()
	if p.text != "" {
		return nil, Invalid("fields", selector, "Invalid field selection %s", p.text)
	}
	return fields.apply(content), nil
}

// selection has the selected fields with the selections in them; an empty one selects all.
type selection map[string]selection

type selectorParser struct{ text string }

// list parses fields up to the end or a closing parenthesis.
func (p *selectorParser) list() selection {
	out := selection{}
	for {
		end := strings.IndexAny(p.text, ",/()")
		if end < 0 {
			end = len(p.text)
		}
		name := p.text[:end]
		p.text = p.text[end:]
		inner := selection{}
		switch {
		case strings.HasPrefix(p.text, "/"):
			p.text = p.text[1:]
			one := selectorParser{p.text}
			inner = one.path()
			p.text = one.text
		case strings.HasPrefix(p.text, "("):
			p.text = p.text[1:]
			inner = p.list()
			p.text = strings.TrimPrefix(p.text, ")")
		}
		out[name] = inner
		if !strings.HasPrefix(p.text, ",") {
			return out
		}
		p.text = p.text[1:]
	}
}

// path parses one field after a slash, which has no siblings.
func (p *selectorParser) path() selection {
	end := strings.IndexAny(p.text, ",)")
	if i := strings.IndexByte(p.text, '('); i >= 0 && (end < 0 || i < end) {
		end = i + strings.IndexByte(p.text[i:], ')') + 1
	}
	if end < 0 {
		end = len(p.text)
	}
	inner := selectorParser{p.text[:end]}
	p.text = p.text[end:]
	return inner.list()
}

func (f selection) apply(content any) any {
	if len(f) == 0 || f["*"] != nil && len(f["*"]) == 0 {
		return content
	}
	switch v := content.(type) {
	case []any:
		for i := range v {
			v[i] = f.apply(v[i])
		}
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			inner, ok := f[name]
			if !ok {
				inner, ok = f["*"]
			}
			if ok {
				out[name] = inner.apply(value)
			}
		}
		return out
	}
	return content
}
