package intent

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// clipLength is the maximum number of characters of a user's value in a message: enough to recognise it, and
// few enough that several problems fit into one Event (1024 bytes).
const clipLength = 80

// Problem is a field or annotation of a Service that its author has to change.
type Problem struct {
	// Field is the field or annotation that the user wrote: "spec.ports[1].protocol".
	Field string
	// Value is the current value; empty if the problem is a missing value.
	Value string
	// Fix is the instruction how to correct it, as a sentence without a full stop.
	Fix string
}

// String formats the problem for Events and terminals.
func (p Problem) String() string {
	if p.Value == "" {
		return fmt.Sprintf("%s: %s", p.Field, p.Fix)
	}
	return fmt.Sprintf("%s is %s: %s", p.Field, Quote(p.Value), p.Fix)
}

// Problems collects the problems of a Service, so that all of them are reported at once. Providers use it for
// their own annotations, so that problems of every cloud have one form. The zero value is ready to use.
type Problems struct {
	// Sources replaces the key of a setting by the field or annotation that the user wrote.
	Sources Sources
	// Written are the values as the user wrote them, by annotation key or field path.
	Written map[string]string

	list []Problem
	// fields counts the problems of each field, with those that are not in the list.
	fields map[string]int
	total  int
}

// Add adds a problem. Field is a field path, or the key of the annotation of the setting, even if the user
// wrote it in another way: see Sources.
func (p *Problems) Add(field, value, fix string) {
	p.add(Problem{Field: p.Sources.FieldOf(field), Value: value, Fix: clip(fix)})
}

// add keeps the first problems of each field. The entries of a list are one field.
func (p *Problems) add(problem Problem) {
	field, _, _ := strings.Cut(problem.Field, "[")
	if p.fields == nil {
		p.fields = map[string]int{}
	}
	p.total++
	if p.fields[field]++; p.fields[field] <= maxMessages {
		p.list = append(p.list, problem)
	}
}

// Addf adds a problem with a formatted fix.
func (p *Problems) Addf(field, value, format string, args ...any) {
	p.Add(field, value, fmt.Sprintf(format, args...))
}

// Conflict adds the problem that a portable setting and a provider's own annotation differ.
func (p *Problems) Conflict(portable, own string) {
	p.Addf(portable, p.Written[p.Sources.FieldOf(portable)], "%s is set too and conflicts: remove one of "+
		"them", own)
}

// Override records that an option of a provider's own annotation was set by a portable setting.
func (p *Problems) Override(own, portable string) {
	if p.Sources == nil {
		p.Sources = Sources{}
	}
	p.Sources[own] = p.Sources.FieldOf(portable)
}

// Len returns the number of problems.
func (p *Problems) Len() int { return p.total }

// Err returns all problems as one error of class cloudapi.Invalid, in the order in which they
// were added, or nil. Subject names the object: "Service default/web".
func (p *Problems) Err(subject string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: subject, Err: &ProblemsError{
		Problems: p.list, total: p.total,
	}}
}

// ProblemsError is the cause inside the error of Problems.Err.
type ProblemsError struct {
	// Problems are the first of each field.
	Problems []Problem
	total    int
}

// HasProblem reports whether a setting is among the problems of an error.
func HasProblem(err error, field string) bool {
	var pe *ProblemsError
	return errors.As(err, &pe) && slices.ContainsFunc(pe.Problems, func(p Problem) bool { return p.Field == field })
}

// Error lists the first problems on one line, and says how many more there are.
func (e *ProblemsError) Error() string {
	shown := e.Problems[:min(len(e.Problems), maxMessages)]
	texts := make([]string, 0, len(shown)+1)
	for _, p := range shown {
		texts = append(texts, p.String())
	}
	if hidden := e.total - len(shown); hidden > 0 {
		texts = append(texts, more(hidden))
	}
	return strings.Join(texts, "; ")
}

// Join merges the problems of several steps (the portable annotations, a provider's own) into one error under
// one subject, so that an Event doesn't repeat it. It joins errors of another kind behind them, skips nil
// errors, and returns nil when all are nil.
func Join(subject string, errs ...error) error {
	var merged Problems
	var otherErrs []error
	for _, err := range errs {
		var pe *ProblemsError
		switch {
		case err == nil:
		case errors.As(err, &pe):
			for _, problem := range pe.Problems {
				merged.add(problem)
			}
			merged.total += pe.total - len(pe.Problems)
		default:
			otherErrs = append(otherErrs, err)
		}
	}
	if len(otherErrs) == 0 {
		return merged.Err(subject)
	}
	return errors.Join(append([]error{merged.Err(subject)}, otherErrs...)...)
}

// Quote returns a user's value for use in a message: in quotes, clipped, and with control
// characters escaped, so that an annotation cannot send escape sequences to a terminal.
func Quote(value string) string {
	characters := 0
	for i := range value {
		if characters++; characters > clipLength {
			return strconv.Quote(value[:i]) + "…"
		}
	}
	return strconv.Quote(value)
}

// clip cuts the fix of a problem that would be too long for any reader.
func clip(fix string) string {
	if len(fix) <= maxFix {
		return fix
	}
	return strings.ToValidUTF8(fix[:maxFix], "") + "…"
}

// Merge stores a portable setting in the option of a provider's own annotation, unless that
// annotation set the option already. Different values are a problem: the owner has to decide. A
// zero value means that the portable setting is not used. Problems about the provider's key name
// the portable setting from then on, if that is what set the option.
func Merge[V any](problems *Problems, option *V, value V, portable, own string) {
	switch v := reflect.ValueOf(value); {
	case v.IsZero(), v.Kind() == reflect.Slice && v.Len() == 0:
	case reflect.ValueOf(option).Elem().IsZero():
		*option = value
		problems.Override(own, portable)
	case !reflect.DeepEqual(*option, value):
		problems.Conflict(portable, own)
	}
}
