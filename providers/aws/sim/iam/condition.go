package iam

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// condition is one operator with one key. A statement applies if all its conditions hold.
type condition struct {
	key, test string
	values    []string
	// negated inverts the test: the condition holds if no value matches, and without forAny if the request does not have
	// the key.
	negated bool
	// ifExists makes the condition hold without the key.
	ifExists bool
	// set is the set operator for a key with several values: forAny, forAll or "".
	set string
}

const (
	forAny = "ForAnyValue"
	forAll = "ForAllValues"
)

// tests compare a value of the request with one of the policy.
var tests = map[string]func(pattern, value string) bool{
	"StringEquals":           func(p, v string) bool { return p == v },
	"StringEqualsIgnoreCase": strings.EqualFold,
	"StringLike":             Match,
	"ArnEquals":              Match,
	"ArnLike":                Match,
	"Bool":                   strings.EqualFold,
}

// list is a JSON array of texts, or one text.
type list []string

// parseConditions parses the conditions of a statement, sorted by operator and key.
func parseConditions(in map[string]map[string]list) ([]condition, error) {
	var out []condition
	for _, operator := range slices.Sorted(maps.Keys(in)) {
		for _, key := range slices.Sorted(maps.Keys(in[operator])) {
			c, err := parseOperator(operator)
			if err != nil {
				return nil, err
			}
			c.key, c.values = strings.ToLower(key), in[operator][key]
			if len(c.values) == 0 {
				return nil, fmt.Errorf("condition %s on %s has no value", operator, key)
			}
			if _, err := strconv.ParseBool(c.values[0]); c.test == "Null" && err != nil {
				return nil, fmt.Errorf("condition Null on %s: %q is neither true nor false", key, c.values[0])
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func parseOperator(operator string) (condition, error) {
	c := condition{}
	name := operator
	if set, rest, ok := strings.Cut(operator, ":"); ok {
		if set != forAny && set != forAll {
			return c, fmt.Errorf("condition operator %q is not known", operator)
		}
		c.set, name = set, rest
	}
	if name == "Null" {
		c.test = name
		return c, nil
	}
	name, c.ifExists = strings.CutSuffix(name, "IfExists")
	for test := range tests {
		if name == test || name == strings.Replace(test, "String", "StringNot", 1) && strings.HasPrefix(test, "String") {
			c.test, c.negated = test, name != test
			return c, nil
		}
	}
	return c, fmt.Errorf("condition operator %q is not known", operator)
}

// holds evaluates the condition against the keys of a request.
func (c condition) holds(context map[string][]string) bool {
	values, present := lookup(context, c.key)
	if c.test == "Null" {
		return present != strings.EqualFold(c.values[0], "true")
	}
	if !present {
		return c.ifExists || c.set == forAll || c.negated && c.set != forAny
	}
	matches := func(value string) bool {
		return slices.ContainsFunc(c.values, func(pattern string) bool { return tests[c.test](pattern, value) }) != c.negated
	}
	if c.set == forAny {
		return slices.ContainsFunc(values, matches)
	}
	return !slices.ContainsFunc(values, func(value string) bool { return !matches(value) })
}

// lookup finds a key by its lower-case name.
func lookup(context map[string][]string, key string) ([]string, bool) {
	for name, values := range context {
		if strings.ToLower(name) == key {
			return values, len(values) > 0
		}
	}
	return nil, false
}
