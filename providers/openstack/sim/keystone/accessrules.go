package keystone

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// accessRules are the rules of an application credential. The services enforce them, in keystonemiddleware/auth_token:
// a request that no rule allows has an invalid token.
type accessRules struct {
	rules []core.AccessRule
	paths []*regexp.Regexp
	used  []bool
}

// newAccessRules returns nil, which allows everything, if rules is nil.
func newAccessRules(rules []core.AccessRule) *accessRules {
	if rules == nil {
		return nil
	}
	a := &accessRules{rules: rules, used: make([]bool, len(rules))}
	for _, rule := range rules {
		a.paths = append(a.paths, pathPattern(rule.Path))
	}
	return a
}

// wildcards are the parts of a path that match other text: ** any characters, * and {name} one segment.
var wildcards = regexp.MustCompile(`\*\*|\*|\{[^}]*\}`)

func pathPattern(path string) *regexp.Regexp {
	var pattern strings.Builder
	pattern.WriteByte('^')
	rest := 0
	for _, match := range wildcards.FindAllStringIndex(path, -1) {
		pattern.WriteString(regexp.QuoteMeta(path[rest:match[0]]))
		if path[match[0]:match[1]] == "**" {
			pattern.WriteString(".*")
		} else {
			pattern.WriteString("[^/]+")
		}
		rest = match[1]
	}
	pattern.WriteString(regexp.QuoteMeta(path[rest:]) + "$")
	return regexp.MustCompile(pattern.String())
}

// allow reports whether a rule allows the call. Every token may be validated.
func (a *accessRules) allow(k *core.Call) bool {
	if a == nil || k.Service == core.ServiceIdentity && k.Method == http.MethodGet &&
		strings.HasSuffix(k.Path, "/v3/auth/tokens") {
		return true
	}
	for n, rule := range a.rules {
		if rule.Service == k.Service && rule.Method == k.Method && a.paths[n].MatchString(k.Path) {
			a.used[n] = true
			return true
		}
	}
	return false
}
