package core

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// IDKind has the names of a kind of EC2 object in IDs, errors, requests and responses.
type IDKind struct {
	Prefix string
	// Code is the part of error codes before the dot.
	Code string
	// Noun is used in texts: "The NOUN 'x' does not exist".
	Noun string
	// Parameter is the name of the list of IDs in Describe requests, Set that of the list of objects in their responses.
	Parameter, Set string
}

// NotFound returns the error for IDs of objects that do not exist.
func (k IDKind) NotFound(ids ...string) error {
	if len(ids) == 1 {
		return Refuse(k.Code+".NotFound", "The %s '%s' does not exist", k.Noun, ids[0])
	}
	return Refuse(k.Code+".NotFound", "The %ss '%s' do not exist", k.Noun, strings.Join(ids, ", "))
}

var hexID = regexp.MustCompile(`^(?:[0-9a-f]{8}|[0-9a-f]{17})$`)

// Check rejects IDs that no object can have.
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

// maxFilterValues is the maximum sum of the values of all filters of a call.
const maxFilterValues = 200

// Selection has the common parameters of all Describe operations of EC2.
type Selection struct {
	Filter     []Filter
	MaxResults *int32
	NextToken  string
}

// Check rejects filters without a name or a value, and too many values.
func (s Selection) Check() error {
	values := 0
	for _, f := range s.Filter {
		if f.Name == "" {
			return InvalidValue("The filter 'null' is invalid")
		}
		if len(f.Value) == 0 {
			return InvalidValue("The filter '%s' must have at least one value", f.Name)
		}
		values += len(f.Value)
	}
	if values > maxFilterValues {
		return Refuse("FilterLimitExceeded", "The maximum number of filter values specified on a single call is %d",
			maxFilterValues)
	}
	return nil
}

// SelectIDs returns the IDs of visible objects, sorted: the requested ones, or without a request all.
func SelectIDs[T any](t *Tx, k IDKind, all map[string]T, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return VisibleIDs(t, all), nil
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

// VisibleIDs returns the IDs of visible objects, sorted.
func VisibleIDs[T any](t *Tx, all map[string]T) []string {
	return slices.DeleteFunc(SortedIDs(all), func(id string) bool { return !t.Visible(id) })
}

// PageRule defines the page size. The zero value is the rule of most Describe operations.
type PageRule struct{ Min, Max int }

// Page returns one page of a sorted list. Without MaxResults it has the maximum size.
func Page[T any](objects []T, ids []string, s Selection, rule PageRule) (out []T, next string, err error) {
	if rule == (PageRule{}) {
		rule = PageRule{Min: 5, Max: 1000}
	}
	size := rule.Max
	if s.MaxResults != nil {
		size = int(*s.MaxResults)
		if size < rule.Min {
			return nil, "", InvalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than "+
				"or equal to %d.", size, rule.Min)
		}
		if size > rule.Max {
			return nil, "", InvalidValue("Value ( %d ) for parameter maxResults is invalid. Expecting a value less than or "+
				"equal to %d.", size, rule.Max)
		}
	}
	start := 0
	if s.NextToken != "" {
		after, ok := DecodeToken(s.NextToken)
		if !ok {
			return nil, "", InvalidValue("Unable to parse pagination token")
		}
		var found bool
		if start, found = slices.BinarySearch(ids, after); found {
			start++
		}
	}
	end := min(start+size, len(objects))
	if end < len(objects) {
		next = EncodeToken(ids[end-1])
	}
	return objects[start:end], next, nil
}

// tokenPrefix precedes the last ID of a page in its token: with an ID instead of a number, creations and deletions
// between two pages do not shift the rest.
const tokenPrefix = "eyJ2IjoiMiJ9:"

// EncodeToken returns the token of the page that begins after an ID.
func EncodeToken(id string) string {
	return base64.StdEncoding.EncodeToString([]byte(tokenPrefix + id))
}

// DecodeToken returns the ID in a token.
func DecodeToken(token string) (id string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(raw), tokenPrefix)
}
