package ccmapp

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes. They are part of the interface: scripts and probes tell a wrong command line,
// which will never work, from a wrong environment, which may recover.
const (
	exitOK = 0
	// exitEnvironment: something outside the command line and the configuration is wrong.
	exitEnvironment = 1
	// exitUsage: the command line or the configuration file is wrong.
	exitUsage = 2
	// exitChanges: ccm plan found changes.
	exitChanges = 2
)

// An exitError ends the process with a code. Its lines are all that the user sees.
type exitError struct {
	code  int
	lines []string
}

// Error implements error.
func (e *exitError) Error() string { return strings.Join(e.lines, "\n") }

// errChanges is the outcome of a plan with changes. It has no message: the plan has been printed.
var errChanges = &exitError{code: exitChanges}

func changesFound(err error) bool { return errors.Is(err, errChanges) }

// usageErrorf says what is wrong with the command line or the configuration, and how to mend it.
func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, []string{fmt.Sprintf(format, args...)}}
}

// environmentErrorf says what is wrong around the process, and how to mend it.
func environmentErrorf(format string, args ...any) error {
	return &exitError{exitEnvironment, []string{fmt.Sprintf(format, args...)}}
}

// report prints what ended a command and returns the exit code. Every message is one line.
func report(w io.Writer, err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		for _, line := range exit.lines {
			fmt.Fprintf(w, "ccm: %s\n", line)
		}
		return exit.code
	default:
		fmt.Fprintf(w, "ccm: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitEnvironment
	}
}
