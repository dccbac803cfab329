package config

import (
	"net/url"
	"slices"
	"strings"
)

// longestChoice is the number of words that are joined with "or"; more become a list.
const longestChoice = 2

// RequireOneOf adds an error unless a key's value is one of a closed set, compared as written. An empty word in the
// set means that the key is optional.
func (f *File) RequireOneOf(section, key, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	words := slices.DeleteFunc(slices.Clone(allowed), func(w string) bool { return w == "" })
	choice := strings.Join(words, " or ")
	if len(words) > longestChoice {
		choice = "one of " + strings.Join(words, ", ")
	}
	if len(words) < len(allowed) {
		choice += ", or unset"
	}
	f.Errorf(section, key, "must be %s, not %q%s", choice, value, suggestNearest(value, words))
}

// IsBaseURL reports whether requests can be sent below the URL: it has a host, and neither a query, which
// would end up in the middle, nor credentials, which have their own keys.
func IsBaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.User == nil
}
