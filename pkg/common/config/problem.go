package config

import (
	"fmt"
	"strings"
)

// Problem is an error or warning about a file, with its line.
type Problem struct { //nolint:errname // A warning is a Problem too, and no error.
	File string
	// Line counts from 1; 0 when the problem has no line, such as a missing key.
	Line    int
	Message string
}

// Error implements error: "cloud.conf:12: message".
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems are the errors of a file, in file order.
type Problems []Problem //nolint:errname // As Problem.

// Error implements error, with one line for each problem.
func (ps Problems) Error() string { return strings.Join(ps.Strings(), "\n") }

// Unwrap lets errors.Is and errors.As see each problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// Strings returns one line for each problem.
func (ps Problems) Strings() []string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return lines
}
