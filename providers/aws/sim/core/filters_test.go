package core

import "testing"

func TestFilterWildcards(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"a?", "ab", true}, {"a?", "a", false},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {"a.c", "abc", false}, {"a.*", "abc", false}, {"*", "", true},
	} {
		if got := matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q matches %q: %v", tc.pattern, tc.text, got)
		}
	}
}
