package intent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// clipLength is how many characters of a user's value appear in a message: enough to recognise
// it, and few enough that several problems fit into one Event (1024 bytes).
const clipLength = 80

// Problem is one thing in a Service that its owner has to change.
type Problem struct {
	// Where is the annotation's key, or the path of the field: "spec.ports[1].protocol".
	Where string
	// Value is what is written there; empty where the point is that nothing is.
	Value string
	// Fix says what to write instead, as a sentence without a full stop.
	Fix string
}

// String is the problem as a person reads it.
func (p Problem) String() string {
	if p.Value == "" {
		return fmt.Sprintf("%s: %s", p.Where, p.Fix)
	}
	return fmt.Sprintf("%s is %s: %s", p.Where, Quote(p.Value), p.Fix)
}

// Problems collects what is wrong with a Service, so that all of it is reported at once.
// Providers use it for their own annotations, so that every problem of every cloud reads the same.
// The zero value is ready.
type Problems struct{ list []Problem }

// Add notes a problem.
func (p *Problems) Add(where, value, fix string) {
	p.list = append(p.list, Problem{Where: where, Value: value, Fix: fix})
}

// Addf notes a problem whose fix needs formatting.
func (p *Problems) Addf(where, value, format string, args ...any) {
	p.Add(where, value, fmt.Sprintf(format, args...))
}

// Len is how many problems there are.
func (p *Problems) Len() int { return len(p.list) }

// Err returns all problems as one error of class cloudapi.Invalid, in the order in which they
// were noted, or nil when there are none. Subject says whose they are: "Service default/web".
func (p *Problems) Err(subject string) error {
	if len(p.list) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: subject, Err: &ProblemsError{Problems: p.list}}
}

// ProblemsError is the cause inside the error of Problems.Err.
type ProblemsError struct{ Problems []Problem }

// Error lists every problem on one line.
func (e *ProblemsError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// Join merges the problems of several steps (the portable annotations, a provider's own) into
// one error under one subject, so that an Event doesn't repeat it. Errors of another kind are
// joined behind. Nil errors are skipped; the answer is nil when all are.
func Join(subject string, errs ...error) error {
	var merged Problems
	var others []error
	for _, err := range errs {
		var pe *ProblemsError
		switch {
		case err == nil:
		case errors.As(err, &pe):
			merged.list = append(merged.list, pe.Problems...)
		default:
			others = append(others, err)
		}
	}
	if len(others) == 0 {
		return merged.Err(subject)
	}
	return errors.Join(append([]error{merged.Err(subject)}, others...)...)
}

// Quote returns a user's value for use in a message: in quotes, control characters escaped, so
// that nobody's annotation can steer a terminal, and clipped.
func Quote(value string) string {
	runes := []rune(value)
	if len(runes) > clipLength {
		return strconv.Quote(string(runes[:clipLength])) + "…"
	}
	return strconv.Quote(value)
}
