package apimodel

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// ConstraintError is a constraint of the model that a request does not meet.
type ConstraintError struct {
	// Parameter is the whole name as sent, such as Filter.1.Value.2.
	Parameter string
	// Missing is set for a required parameter without a value.
	Missing bool
	Value   string
	// Constraint is the constraint in the words of AWS' error messages.
	Constraint string
}

func (e *ConstraintError) Error() string {
	return fmt.Sprintf("parameter %s: %q: %s", e.Parameter, e.Value, e.Constraint)
}

// Check returns the first constraint that the request of an operation does not meet, in the order of the parameters'
// names. Values of the wrong type are left to query.Decode.
func (m *Model) Check(operation string, form url.Values) *ConstraintError {
	c := checker{model: m, params: query.NewParams(form)}
	return c.structure(m.Shapes[m.Requests[operation]], "")
}

// HasParameter reports whether an operation has a parameter, such as Filter.1.Value.2.
func (m *Model) HasParameter(operation, parameter string) bool {
	s := m.Shapes[m.Requests[operation]]
	for _, part := range strings.Split(parameter, ".") {
		switch _, err := strconv.Atoi(part); {
		case s == nil:
			return false
		case s.Type == "structure":
			s = m.Shapes[s.Members[part]]
		case s.Type == "list" && err == nil:
			s = m.Shapes[s.Item]
		case s.Type != "list" || part != "member":
			return false
		}
	}
	return s != nil
}

type checker struct {
	model  *Model
	params query.Params
}

func (c *checker) structure(s *Shape, prefix string) *ConstraintError {
	if s == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		if !c.params.Present(prefix + name) {
			if slices.Contains(s.Required, name) {
				return &ConstraintError{Parameter: prefix + name, Missing: true, Constraint: "Member must not be null"}
			}
			continue
		}
		if err := c.value(c.model.Shapes[s.Members[name]], prefix+name); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) value(s *Shape, name string) *ConstraintError {
	switch s.Type {
	case "structure":
		return c.structure(s, name+".")
	case "list":
		return c.list(s, name)
	}
	text, ok := c.params.Text(name)
	if !ok {
		return nil
	}
	if constraint := s.violated(text); constraint != "" {
		return &ConstraintError{Parameter: name, Value: text, Constraint: constraint}
	}
	return nil
}

func (c *checker) list(s *Shape, name string) *ConstraintError {
	base, numbers := c.params.Numbers(name)
	if constraint := s.violatedBound(len(numbers), "have length"); constraint != "" {
		return &ConstraintError{Parameter: name, Value: fmt.Sprintf("[%d items]", len(numbers)), Constraint: constraint}
	}
	for _, n := range numbers {
		if err := c.value(c.model.Shapes[s.Item], base+"."+strconv.Itoa(n)); err != nil {
			return err
		}
	}
	return nil
}

// violated returns the constraint that a scalar value does not meet, empty if it is valid.
func (s *Shape) violated(text string) string {
	switch s.Type {
	case "integer", "long":
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return ""
		}
		return s.violatedBound(n, "have value")
	case "string":
		if constraint := s.violatedBound(utf8.RuneCountInString(text), "have length"); constraint != "" {
			return constraint
		}
		if s.Pattern != nil && !s.Pattern.regexp.MatchString(text) {
			return "Member must satisfy regular expression pattern: " + s.Pattern.Source
		}
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
			return "Member must satisfy enum value set: [" + strings.Join(s.Enum, ", ") + "]"
		}
	}
	return ""
}

// violatedBound returns the bound that a number does not meet, empty if it is valid.
func (s *Shape) violatedBound(n int, verb string) string {
	switch {
	case s.Min != nil && n < *s.Min:
		return fmt.Sprintf("Member must %s greater than or equal to %d", verb, *s.Min)
	case s.Max != nil && n > *s.Max:
		return fmt.Sprintf("Member must %s less than or equal to %d", verb, *s.Max)
	}
	return ""
}
