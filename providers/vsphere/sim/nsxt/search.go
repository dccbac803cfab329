package nsxt

import (
	"path"
	"slices"
	"strings"
)

// searchPath is the path of the full text search.
const searchPath = "/search/query"

// term is a condition of a query: one of a field's values equals value, without case. In value, * and ? are wildcards.
type term struct{ field, value string }

func parseQuery(query string) ([]term, *apiError) {
	var terms []term
	for text := range strings.SplitSeq(query, " AND ") {
		field, value, ok := cutTerm(strings.TrimSpace(text))
		if !ok || strings.ContainsAny(field+value, " ()") {
			return nil, invalid(255, "Invalid query %q: only terms FIELD:VALUE, joined by AND, are simulated.", query)
		}
		terms = append(terms, term{strings.ToLower(field), strings.ToLower(value)})
	}
	return terms, nil
}

// cutTerm splits a term at its colon, and removes the backslashes before reserved characters of its value. Those of
// wildcards stay.
func cutTerm(text string) (field, value string, ok bool) {
	field, escaped, ok := strings.Cut(text, ":")
	if unquoted, isPhrase := strings.CutPrefix(escaped, `"`); isPhrase {
		escaped = strings.TrimSuffix(unquoted, `"`)
	}
	var out strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '\\' && i+1 < len(escaped) {
			if i++; strings.IndexByte(`*?[\`, escaped[i]) >= 0 {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(escaped[i])
	}
	return field, out.String(), ok && field != "" && out.Len() > 0
}

func (t term) matches(d document) bool {
	return slices.ContainsFunc(valuesOf(map[string]any(d), t.field), func(value string) bool {
		// A slash is a character like others for the search, and ends a wildcard of path.Match.
		const slash = "\x00"
		pattern, text := strings.ReplaceAll(t.value, "/", slash), strings.ReplaceAll(strings.ToLower(value), "/", slash)
		matched, err := path.Match(pattern, text)
		return err == nil && matched
	})
}

// valuesOf returns the texts of a field, which may be nested, as in tags.scope: each object of a list has its own.
func valuesOf(value any, field string) []string {
	switch v := value.(type) {
	case string:
		if field == "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, valuesOf(item, field)...)
		}
		return out
	case map[string]any:
		if name, rest, _ := strings.Cut(field, "."); name != "" {
			return valuesOf(v[name], rest)
		}
	}
	return nil
}
