package core

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// filter is a parsed filter expression: alternatives of terms that all match. The zero value matches everything.
type filter struct{ alternatives [][]term }

// term is one comparison of a field.
type term struct {
	field, op, value string
	re               *regexp.Regexp
	negated          bool
}

// Comparisons: those of regular expressions, and those of AIP-160. The two cannot be mixed.
var (
	regexTerm = regexp.MustCompile(`^([\w.-]+)\s+(eq|ne)\s+(?s:(.+))$`)
	aipTerm   = regexp.MustCompile(`^(-|NOT\s+)?([\w.-]+)\s*(!=|<=|>=|=|<|>|:)\s*(?s:(.*))$`)
)

// parseFilter parses the query parameter filter in either language.
func parseFilter(text string) (filter, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return filter{}, nil
	}
	invalid := Invalid("filter", text, "Invalid list filter expression.")
	var f filter
	var current []term
	regex, aip := false, false
	for _, part := range splitFilter(text) {
		if part == "AND" || part == "OR" {
			aip = true
			if part == "OR" {
				f.alternatives, current = append(f.alternatives, current), nil
			}
			continue
		}
		t, ok := parseTerm(part)
		if !ok {
			return filter{}, invalid
		}
		regex, aip = regex || t.re != nil, aip || t.re == nil
		current = append(current, t)
	}
	if f.alternatives = append(f.alternatives, current); regex && aip {
		return filter{}, invalid
	}
	for _, terms := range f.alternatives {
		if len(terms) == 0 {
			return filter{}, invalid
		}
	}
	return f, nil
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
			for _, sep := range []string{" AND ", " OR "} {
				if i := strings.Index(text, sep); i >= 0 && i < end {
					end = i
				}
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
	if len(f.alternatives) == 0 {
		return true, nil
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return false, err
	}
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		return false, err
	}
	for _, terms := range f.alternatives {
		all := true
		for _, t := range terms {
			all = all && t.matches(content)
		}
		if all {
			return true, nil
		}
	}
	return false, nil
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
	switch {
	case errX != nil || errY != nil:
		return strings.Compare(a, b)
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
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
