package plan

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/sets"
)

// formatStep shows an update as "before → after". If that doesn't fit and the values are lists, it shows the
// added and removed entries: in a list of a hundred members the others are irrelevant.
func formatStep(f Field, fits func(string) bool) string {
	step := formatValue(f.Before) + " → " + formatValue(f.After)
	if fits(step) {
		return step
	}
	before, after := strings.Split(f.Before, ","), strings.Split(f.After, ",")
	if len(before) == 1 && len(after) == 1 {
		return step
	}
	var parts []string
	add := func(sign string, items []string, others sets.Set[string]) {
		for _, item := range items {
			if item != "" && !others.Has(item) {
				parts = append(parts, sign+escape(strings.TrimSpace(item)))
			}
		}
	}
	add("+", after, sets.New(before...))
	add("-", before, sets.New(after...))
	if len(parts) == 0 {
		return step // only the order differs
	}
	return strings.Join(parts, " ")
}

// formatValue returns a field's value, and a placeholder for an empty one, which would look like missing output.
func formatValue(value string) string {
	if value == "" {
		return "(none)"
	}
	return escape(value)
}

// escape escapes characters that could control a terminal or break a line: names and values come from
// users and clouds.
func escape(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// clip shortens s to at most limit bytes, at a rune's edge.
func clip(s string, limit int) string {
	const dots = "…"
	if len(s) <= limit {
		return s
	}
	cut := limit - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots
}
