package core

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// filter is a parsed filter expression: alternatives of terms that all match. Nil matches everything.
type filter [][]term

// term is one comparison of a field.
type term struct {
	field, op, value string
	re               *regexp.Regexp
	negated          bool
}

// Comparisons: those of regular expressions, and those of AIP-160. The two cannot be mixed.
var (
	regexTerm    = regexp.MustCompile(`^([\w.-]+)\s+(eq|ne)\s+(?s:(.+))$`)
	betweenTerms = regexp.MustCompile(` (AND|OR) `)
	aipTerm      = regexp.MustCompile(`^(-|NOT\s+)?([\w.-]+)\s*(!=|<=|>=|=|<|>|:)\s*(?s:(.*))$`)
)

// parseFilter parses the query parameter filter in either language.
func parseFilter(text string) (filter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	f, languages := filter{nil}, map[string]bool{}
	for _, part := range splitFilter(text) {
		t, ok := parseTerm(part)
		switch last := len(f) - 1; {
		case part == "AND":
		case part == "OR":
			f = append(f, nil)
		case !ok:
			return nil, Invalid("filter", text, "Invalid list filter expression.")
		default:
			f[last] = append(f[last], t)
		}
		languages[t.language()] = true
	}
	if len(languages) > 1 || slices.ContainsFunc(f, func(terms []term) bool { return len(terms) == 0 }) {
		return nil, Invalid("filter", text, "Invalid list filter expression.")
	}
	return f, nil
}

func (t term) language() string {
	if t.re != nil {
		return "regular expressions"
	}
	return "AIP-160"
}

// splitFilter splits an expression into terms without their parentheses, and the words between them.
func splitFilter(text string) []string {
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := len(text)
		switch word, _, _ := strings.Cut(text, " "); {
		case text[0] == '(':
			end = closing(text)
			out = append(out, strings.TrimSpace(strings.TrimSuffix(text[1:end], ")")))
		case word == "AND" || word == "OR":
			end = len(word)
			out = append(out, word)
		default:
			if at := betweenTerms.FindStringIndex(text); at != nil {
				end = at[0]
			}
			out = append(out, strings.TrimSpace(text[:end]))
		}
		text = text[end:]
	}
	return out
}

// closing returns the end of the text in parentheses at the beginning. Parentheses in the text may be nested.
func closing(text string) int {
	depth, quote := 0, rune(0)
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func parseTerm(text string) (term, bool) {
	if m := regexTerm.FindStringSubmatch(text); m != nil {
		re, err := regexp.Compile(`^(?:` + unquote(m[3]) + `)$`)
		return term{field: m[1], op: m[2], re: re, negated: m[2] == "ne"}, err == nil
	}
	m := aipTerm.FindStringSubmatch(text)
	if m == nil || m[4] == "" {
		return term{}, false
	}
	return term{field: m[2], op: m[3], value: unquote(m[4]), negated: m[1] != ""}, true
}

func unquote(text string) string {
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// matches reports whether the resource matches. Fields have the names of the API, with dots for nested ones.
func (f filter) matches(x any) (bool, error) {
	if f == nil {
		return true, nil
	}
	content, err := asDocument(x)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(f, func(terms []term) bool {
		return !slices.ContainsFunc(terms, func(t term) bool { return !t.matches(content) })
	}), nil
}

func (t term) matches(content any) bool {
	values := valuesAt(content, strings.Split(t.field, "."))
	found := false
	for _, v := range values {
		found = found || t.matchesValue(v)
	}
	if t.re != nil && len(values) == 0 {
		found = t.re.MatchString("") // A field that is not set is empty.
	}
	return found != t.negated
}

func (t term) matchesValue(v string) bool {
	if t.re != nil {
		return t.re.MatchString(v)
	}
	order := compareValues(v, t.value)
	switch t.op {
	case "=":
		return matchesWildcard(v, t.value)
	case "!=":
		return !matchesWildcard(v, t.value)
	case "<":
		return order < 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	case ">=":
		return order >= 0
	}
	return t.value == "*" || strings.Contains(strings.ToLower(v), strings.ToLower(strings.Trim(t.value, "*")))
}

// matchesWildcard compares texts, or numbers and booleans in their usual form; a * stands for any characters.
func matchesWildcard(v, pattern string) bool {
	if !strings.Contains(pattern, "*") {
		return v == pattern || compareValues(v, pattern) == 0
	}
	re := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return regexp.MustCompile(`^` + re + `$`).MatchString(v)
}

func compareValues(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

// valuesAt returns the values of a field as text. A list has those of its elements.
func valuesAt(content any, path []string) []string {
	switch v := content.(type) {
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, valuesAt(x, path)...)
		}
		return out
	case map[string]any:
		if len(path) > 0 {
			return valuesAt(v[path[0]], path[1:])
		}
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	}
	return nil
}
