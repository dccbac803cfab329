package core

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// IDKind is how a kind of EC2 object is named in IDs and errors.
type IDKind struct {
	Prefix string
	// Code is the part of error codes before the dot.
	Code string
	// Noun is used in texts: "The NOUN 'x' does not exist".
	Noun string
}

func (k IDKind) NotFound(ids ...string) error {
	if len(ids) == 1 {
		return Refuse(k.Code+".NotFound", "The %s '%s' does not exist", k.Noun, ids[0])
	}
	return Refuse(k.Code+".NotFound", "The %ss '%s' do not exist", k.Noun, strings.Join(ids, ", "))
}

var hexID = regexp.MustCompile(`^(?:[0-9a-f]{8}|[0-9a-f]{17})$`)

// Check refuses IDs that no object can have.
func (k IDKind) Check(id string) error {
	digits, ok := strings.CutPrefix(id, k.Prefix+"-")
	if !ok {
		return Refuse(k.malformed(), `Invalid id: "%s" (expecting "%s-...")`, id, k.Prefix)
	}
	if !hexID.MatchString(digits) {
		return Refuse(k.malformed(), `Invalid id: "%s"`, id)
	}
	return nil
}

func (k IDKind) malformed() string {
	if k.Code == "InvalidGroup" {
		return "InvalidGroupId.Malformed"
	}
	return k.Code + ".Malformed"
}

// Find returns one object that a change names.
func Find[T any](k IDKind, all map[string]T, id string) (T, error) {
	var none T
	if err := k.Check(id); err != nil {
		return none, err
	}
	if v, ok := all[id]; ok {
		return v, nil
	}
	return none, k.NotFound(id)
}

// Filter is one condition of a Describe operation; it holds if any value matches.
type Filter struct {
	Name  string
	Value []string
}

// maxFilterValues is how many values all filters of a call may have in sum.
const maxFilterValues = 200

// Selection is what all Describe operations of EC2 understand.
type Selection struct {
	Filter     []Filter
	MaxResults *int32
	NextToken  string
}

func (s Selection) Check() error {
	values := 0
	for _, f := range s.Filter {
		if f.Name == "" {
			return Refuse("InvalidParameterValue", "The filter 'null' is invalid")
		}
		if len(f.Value) == 0 {
			return Refuse("InvalidParameterValue", "The filter '%s' must have at least one value", f.Name)
		}
		values += len(f.Value)
	}
	if values > maxFilterValues {
		return Refuse("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d",
			maxFilterValues)
	}
	return nil
}

// Fields answers what values an object has for a filter; ok is false for filters that its kind does not know.
type Fields[T any] func(object T, name string) (values []string, ok bool)

// OneOf returns the value of a filter, of which the object has exactly one.
func OneOf(name string, values map[string]string) ([]string, bool) {
	v, ok := values[name]
	return []string{v}, ok
}

// SelectObjects returns the visible objects that match the IDs, if any are given, and all
// filters; sorted by ID.
func SelectObjects[T any](
	t *Tx, k IDKind, all map[string]T, ids []string, s Selection, values Fields[T],
) ([]T, []string, error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	names, err := SelectIDs(t, k, all, ids)
	if err != nil {
		return nil, nil, err
	}
	if err := CheckFilters(s.Filter, values); err != nil {
		return nil, nil, err
	}
	var out []T
	var kept []string
	for _, id := range names {
		if MatchesAll(t, id, all[id], s.Filter, values) {
			out, kept = append(out, all[id]), append(kept, id)
		}
	}
	return out, kept, nil
}

func SelectIDs[T any](t *Tx, k IDKind, all map[string]T, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(id string) bool { return !t.Visible(id) }), nil
	}
	var missing []string
	for _, id := range ids {
		if err := k.Check(id); err != nil {
			return nil, err
		}
		if !Has(all, id) || !t.Visible(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, k.NotFound(missing...)
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), nil
}

// CheckFilters evaluates filters on an empty object: whether a filter is known must not depend on existing objects.
func CheckFilters[T any](filters []Filter, values Fields[T]) error {
	for _, f := range filters {
		if isTagFilter(f.Name) {
			continue
		}
		var none T
		if _, ok := values(none, f.Name); !ok {
			return InvalidValue("The filter '%s' is invalid", f.Name)
		}
	}
	return nil
}

func isTagFilter(name string) bool {
	return name == "tag-key" || name == "tag-value" || strings.HasPrefix(name, "tag:")
}

func MatchesAll[T any](t *Tx, id string, object T, filters []Filter, values Fields[T]) bool {
	for _, f := range filters {
		var have []string
		if isTagFilter(f.Name) {
			have = tagValues(t.Tags[id], f.Name)
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
		if slices.ContainsFunc(have, func(text string) bool { return Matches(p, text) }) {
			return true
		}
	}
	return false
}

// Matches compares with the wildcards of EC2's filters: * and ?, which a backslash makes literal.
func Matches(pattern, text string) bool {
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

// Description says how a Describe operation selects the objects of a kind, and what a client sees of each.
type Description[T, V any] struct {
	Kind   IDKind
	All    map[string]T
	Rule   PageRule
	Values Fields[T]
	View   func(T) V
}

// Page returns one page of the objects that match the IDs and filters of a request.
func (d Description[T, V]) Page(t *Tx, ids []string, s Selection) (out query.Items[V], next string, err error) {
	found, names, err := SelectObjects(t, d.Kind, d.All, ids, s, d.Values)
	if err != nil {
		return out, "", err
	}
	found, next, err = Page(found, names, s, d.Rule)
	for _, x := range found {
		out.Item = append(out.Item, d.View(x))
	}
	return out, next, err
}

// PageRule says how long pages are.
type PageRule struct{ Least, Most int }

// Ec2Pages is the rule of most Describe operations.
var Ec2Pages = PageRule{Least: 5, Most: 1000}

// Page cuts one page out of a sorted list. Without MaxResults a page holds as many as is possible.
func Page[T any](objects []T, ids []string, s Selection, rule PageRule) (out []T, next string, err error) {
	size := rule.Most
	if s.MaxResults != nil {
		size = int(*s.MaxResults)
		if size < rule.Least {
			return nil, "", InvalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than "+
				"or equal to %d.", size, rule.Least)
		}
		if size > rule.Most {
			return nil, "", InvalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value less than or "+
				"equal to %d.", size, rule.Most)
		}
	}
	from := 0
	if s.NextToken != "" {
		after, ok := DecodeToken(s.NextToken)
		if !ok {
			return nil, "", InvalidValue("Unable to parse pagination token")
		}
		from, _ = slices.BinarySearch(ids, after)
		if from < len(ids) && ids[from] == after {
			from++
		}
	}
	to := min(from+size, len(objects))
	if to < len(objects) {
		next = EncodeToken(ids[to-1])
	}
	return objects[from:to], next, nil
}

// Tokens hold the last ID of a page, so that what is made or removed between two pages moves nothing.
const tokenMark = "eyJ2IjoiMiJ9:"

func EncodeToken(id string) string {
	return base64.StdEncoding.EncodeToString([]byte(tokenMark + id))
}

func DecodeToken(token string) (id string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(raw), tokenMark)
}
