package sim

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// idKind is how a kind of EC2 object is named in IDs and errors.
type idKind struct {
	prefix string
	// code is the part of error codes before the dot.
	code string
	// noun is used in texts: "The NOUN 'x' does not exist".
	noun string
}

func (k idKind) notFound(ids ...string) error {
	if len(ids) == 1 {
		return refuse(k.code+".NotFound", "The %s '%s' does not exist", k.noun, ids[0])
	}
	return refuse(k.code+".NotFound", "The %ss '%s' do not exist", k.noun, strings.Join(ids, ", "))
}

var hexID = regexp.MustCompile(`^(?:[0-9a-f]{8}|[0-9a-f]{17})$`)

// check refuses IDs that no object can have.
func (k idKind) check(id string) error {
	digits, ok := strings.CutPrefix(id, k.prefix+"-")
	if !ok {
		return refuse(k.malformed(), `Invalid id: "%s" (expecting "%s-...")`, id, k.prefix)
	}
	if !hexID.MatchString(digits) {
		return refuse(k.malformed(), `Invalid id: "%s"`, id)
	}
	return nil
}

func (k idKind) malformed() string {
	if k.code == "InvalidGroup" {
		return "InvalidGroupId.Malformed"
	}
	return k.code + ".Malformed"
}

// find returns one object that a change names.
func find[T any](k idKind, all map[string]T, id string) (T, error) {
	var none T
	if err := k.check(id); err != nil {
		return none, err
	}
	if v, ok := all[id]; ok {
		return v, nil
	}
	return none, k.notFound(id)
}

// filter is one condition of a Describe operation; it holds if any value matches.
type filter struct {
	Name  string
	Value []string
}

// maxFilterValues is how many values all filters of a call may have in sum.
const maxFilterValues = 200

// selection is what all Describe operations of EC2 understand.
type selection struct {
	Filter     []filter
	MaxResults *int32
	NextToken  string
}

func (s selection) check() error {
	values := 0
	for _, f := range s.Filter {
		if f.Name == "" {
			return refuse("InvalidParameterValue", "The filter 'null' is invalid")
		}
		if len(f.Value) == 0 {
			return refuse("InvalidParameterValue", "The filter '%s' must have at least one value", f.Name)
		}
		values += len(f.Value)
	}
	if values > maxFilterValues {
		return refuse("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d",
			maxFilterValues)
	}
	return nil
}

// fields answers what values an object has for a filter; ok is false for filters that its kind does not know.
type fields[T any] func(object T, name string) (values []string, ok bool)

// oneOf returns the value of a filter, of which the object has exactly one.
func oneOf(name string, values map[string]string) ([]string, bool) {
	v, ok := values[name]
	return []string{v}, ok
}

// selectObjects returns the visible objects that match the IDs, if any are given, and all
// filters; sorted by ID.
func selectObjects[T any](
	t *tx, k idKind, all map[string]T, ids []string, s selection, values fields[T],
) ([]T, []string, error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	names, err := selectIDs(t, k, all, ids)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFilters(s.Filter, values); err != nil {
		return nil, nil, err
	}
	var out []T
	var kept []string
	for _, id := range names {
		if matchesAll(t, id, all[id], s.Filter, values) {
			out, kept = append(out, all[id]), append(kept, id)
		}
	}
	return out, kept, nil
}

func selectIDs[T any](t *tx, k idKind, all map[string]T, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(id string) bool { return !t.visible(id) }), nil
	}
	var missing []string
	for _, id := range ids {
		if err := k.check(id); err != nil {
			return nil, err
		}
		if !has(all, id) || !t.visible(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, k.notFound(missing...)
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), nil
}

// checkFilters evaluates filters on an empty object: whether a filter is known must not depend on existing objects.
func checkFilters[T any](filters []filter, values fields[T]) error {
	for _, f := range filters {
		if isTagFilter(f.Name) {
			continue
		}
		var none T
		if _, ok := values(none, f.Name); !ok {
			return invalidValue("The filter '%s' is invalid", f.Name)
		}
	}
	return nil
}

func isTagFilter(name string) bool {
	return name == "tag-key" || name == "tag-value" || strings.HasPrefix(name, "tag:")
}

func matchesAll[T any](t *tx, id string, object T, filters []filter, values fields[T]) bool {
	for _, f := range filters {
		var have []string
		if isTagFilter(f.Name) {
			have = tagValues(t.tags[id], f.Name)
		} else {
			have, _ = values(object, f.Name)
		}
		if !matchesAny(f.Value, have) {
			return false
		}
	}
	return true
}

func tagValues(tags map[string]string, name string) []string {
	if name == "tag-key" {
		return slices.Collect(maps.Keys(tags))
	}
	if name == "tag-value" {
		return slices.Collect(maps.Values(tags))
	}
	if v, ok := tags[strings.TrimPrefix(name, "tag:")]; ok {
		return []string{v}
	}
	return nil
}

func matchesAny(patterns, have []string) bool {
	for _, p := range patterns {
		if slices.ContainsFunc(have, func(text string) bool { return matches(p, text) }) {
			return true
		}
	}
	return false
}

// matches compares with the wildcards of EC2's filters: * and ?, which a backslash makes literal.
func matches(pattern, text string) bool {
	if !strings.ContainsAny(pattern, `*?\`) {
		return pattern == text
	}
	var expression strings.Builder
	expression.WriteString(`(?s)^`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			expression.WriteString(`.*`)
		case c == '?':
			expression.WriteString(`.`)
		case c == '\\' && i+1 < len(pattern):
			i++
			expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			expression.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	expression.WriteString(`$`)
	re, err := regexp.Compile(expression.String())
	return err == nil && re.MatchString(text)
}

// description says how a Describe operation selects the objects of a kind, and what a client sees of each.
type description[T, V any] struct {
	kind   idKind
	all    map[string]T
	rule   pageRule
	values fields[T]
	view   func(T) V
}

// page returns one page of the objects that match the IDs and filters of a request.
func (d description[T, V]) page(t *tx, ids []string, s selection) (out query.Items[V], next string, err error) {
	found, names, err := selectObjects(t, d.kind, d.all, ids, s, d.values)
	if err != nil {
		return out, "", err
	}
	found, next, err = page(found, names, s, d.rule)
	for _, x := range found {
		out.Item = append(out.Item, d.view(x))
	}
	return out, next, err
}

// pageRule says how long pages are.
type pageRule struct{ least, most int }

// ec2Pages is the rule of most Describe operations.
var ec2Pages = pageRule{least: 5, most: 1000}

// page cuts one page out of a sorted list. Without MaxResults a page holds as many as is possible.
func page[T any](objects []T, ids []string, s selection, rule pageRule) (out []T, next string, err error) {
	size := rule.most
	if s.MaxResults != nil {
		size = int(*s.MaxResults)
		if size < rule.least {
			return nil, "", invalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than "+
				"or equal to %d.", size, rule.least)
		}
		if size > rule.most {
			return nil, "", invalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value less than or "+
				"equal to %d.", size, rule.most)
		}
	}
	from := 0
	if s.NextToken != "" {
		after, ok := decodeToken(s.NextToken)
		if !ok {
			return nil, "", invalidValue("Unable to parse pagination token")
		}
		from, _ = slices.BinarySearch(ids, after)
		if from < len(ids) && ids[from] == after {
			from++
		}
	}
	to := min(from+size, len(objects))
	if to < len(objects) {
		next = encodeToken(ids[to-1])
	}
	return objects[from:to], next, nil
}

// Tokens hold the last ID of a page, so that what is made or removed between two pages moves nothing.
const tokenMark = "eyJ2IjoiMiJ9:"

func encodeToken(id string) string {
	return base64.StdEncoding.EncodeToString([]byte(tokenMark + id))
}

func decodeToken(token string) (id string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(raw), tokenMark)
}
