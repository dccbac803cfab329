package annotation

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// maxDelay is the maximum time between two probes.
const maxDelay = time.Hour

func parseBool(value string) (bool, error) {
	switch value {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("write true or false, in lower case")
}

// parseID accepts the IDs of Octavia and Neutron, and an empty value, which means none.
func parseID(value string) (string, error) {
	if value != "" && !names.IsUUID(value) {
		return "", fmt.Errorf("write an ID such as 8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")
	}
	return value, nil
}

func parseProxyProtocol(value string) (int, error) {
	version, ok := map[string]int{"true": 1, "v1": 1, "v2": 2, "false": 0}[value]
	if !ok {
		return 0, fmt.Errorf("write true, v1, v2 or false")
	}
	return version, nil
}

// parseSeconds parses whole seconds, as these annotations always did, and durations.
func parseSeconds(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if n, atoiErr := strconv.Atoi(value); atoiErr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < time.Second || d > maxDelay || d%time.Second != 0 {
		return 0, fmt.Errorf("write whole seconds from 1 to %d", int(maxDelay/time.Second))
	}
	return d, nil
}

// checkPattern validates a pattern, and returns it as text.
func checkPattern(value string) (string, error) {
	_, err := ParsePattern(value)
	return value, err
}

// Pattern matches names of subnets: a glob, or a regular expression behind a tilde; a leading
// exclamation mark negates. The whole name has to match.
type Pattern struct {
	negate bool
	expr   *regexp.Regexp
}

// ParsePattern parses a pattern of subnet names.
func ParsePattern(value string) (Pattern, error) {
	var p Pattern
	value, p.negate = strings.CutPrefix(value, "!")
	source, isExpr := strings.CutPrefix(value, "~")
	if !isExpr {
		source = globSource(value)
	}
	expr, err := compile(`\A(?:` + source + `)\z`)
	if err != nil {
		return p, fmt.Errorf("it is not a pattern: write a name, a glob such as public-* or public-{a,b}, or a regular "+
			"expression after a tilde such as ~public-.+, of at most %d characters", maxPattern)
	}
	p.expr = expr
	return p, nil
}

// Limits of patterns. Each name of a subnet costs steps in proportion to the instructions.
const (
	maxPattern      = 1000
	maxInstructions = 5000
)

// compile compiles an expression of bounded size: a few repetitions can stand for a hundred thousand instructions.
func compile(source string) (*regexp.Regexp, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("it has more than %d characters", maxPattern)
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, errors.New("it repeats too much")
	}
	return regexp.Compile(source)
}

// Match reports whether a name matches.
func (p Pattern) Match(name string) bool { return p.expr.MatchString(name) != p.negate }

// globSource returns the regular expression of a glob with *, ?, [ab], [!ab] and {a,b}. That of a glob with a missing
// bracket does not compile.
func globSource(glob string) string {
	var b strings.Builder
	inClass, alternatives := false, 0
	for i, r := range glob {
		switch {
		case inClass:
			inClass = r != ']'
			if r == '!' && glob[i-1] == '[' {
				r = '^'
			}
			if r == '\\' {
				b.WriteRune(r)
			}
			b.WriteRune(r)
		case r == '[':
			inClass = true
			b.WriteRune(r)
		case r == '{':
			alternatives++
			b.WriteString("(?:")
		case r == '}' && alternatives > 0:
			alternatives--
			b.WriteString(")")
		case r == ',' && alternatives > 0:
			b.WriteString("|")
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// TagFilter selects subnets by their tags: any of them by default, all of them behind an ampersand;
// a leading exclamation mark negates.
type TagFilter struct {
	Tags        []string
	All, Negate bool
}

// ParseTagFilter parses a list of tags such as a,b or &a,b or !a or !&a,b.
func ParseTagFilter(value string) TagFilter {
	var f TagFilter
	value, f.Negate = strings.CutPrefix(value, "!")
	value, f.All = strings.CutPrefix(value, "&")
	for tag := range strings.SplitSeq(value, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			f.Tags = append(f.Tags, tag)
		}
	}
	return f
}

// Match reports whether a subnet with these tags is selected.
func (f TagFilter) Match(tags []string) bool {
	found := 0
	for _, tag := range f.Tags {
		if slices.Contains(tags, tag) {
			found++
		}
	}
	matched := found > 0
	if f.All {
		matched = found == len(f.Tags)
	}
	return matched != f.Negate
}

// parseTags parses a comma list of Octavia's tags.
func parseTags(value string) ([]string, error) {
	var list []string
	seen := sets.Set[string]{}
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == "":
			return nil, fmt.Errorf("an entry is empty: remove the comma or fill it in")
		case len(item) > names.MaxTag:
			return nil, fmt.Errorf("a tag has %d characters: write at most %d", len(item), names.MaxTag)
		case names.IsReservedTag(item):
			return nil, fmt.Errorf("%q marks the owner of an object; write another tag", item)
		case !seen.Has(item):
			seen.Insert(item)
			list = append(list, item)
		}
	}
	return list, nil
}

// parseGuests parses a comma list of Services, and returns it sorted, for a tag.
func parseGuests(value string) (string, error) {
	const limit = names.MaxTag - len(names.GuestsTagPrefix)
	if len(value) > 2*limit { // with spaces
		return "", fmt.Errorf("the list has %d characters: write at most %d, for instance with namespace/*",
			len(value), limit)
	}
	var list []string
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		namespace, name, ok := strings.Cut(item, "/")
		valid := ok && len(validation.IsDNS1123Label(namespace)) == 0 &&
			(name == "*" || len(validation.IsDNS1035Label(name)) == 0 || len(validation.IsDNS1123Label(name)) == 0)
		switch {
		case item == "" && value == "":
		case !valid:
			return "", fmt.Errorf("%q is no Service: write namespace/name, or namespace/* for all of a namespace, separated by "+
				"commas", item)
		case !slices.Contains(list, item):
			list = append(list, item)
		}
	}
	slices.Sort(list)
	text := strings.Join(list, ",")
	if len(text) > limit {
		return "", fmt.Errorf("the list has %d characters: write at most %d, for instance with namespace/*", len(text), limit)
	}
	return text, nil
}

// Container is a reference to a certificate in Barbican.
type Container struct {
	// Secret is true for a secret, which holds a PKCS #12 bundle, and false for a container.
	Secret bool
	ID     string
}

// ParseContainer parses the reference: its last two parts are "containers" or "secrets", and the ID.
func ParseContainer(ref string) (Container, error) {
	invalid := fmt.Errorf("write the reference that Barbican shows, such as " +
		"https://barbican.example.org/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d")
	u, err := url.Parse(ref)
	if err != nil {
		return Container{}, invalid
	}
	parts := strings.Split(strings.TrimSuffix(u.Path, "/"), "/")
	if len(parts) < 2 || parts[len(parts)-1] == "" {
		return Container{}, invalid
	}
	switch parts[len(parts)-2] {
	case "containers":
		return Container{ID: parts[len(parts)-1]}, nil
	case "secrets":
		return Container{Secret: true, ID: parts[len(parts)-1]}, nil
	}
	return Container{}, invalid
}
