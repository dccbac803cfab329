// Package cli has shared parts of the command lines of ccm and ccm-lab: exit codes, files and standard input, and
// errors about unknown commands and flags.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes. They are part of the interface: scripts and probes distinguish a wrong command line, which will
// never work, from a wrong environment, which may recover.
const (
	ExitOK = 0
	// ExitEnvironment: something other than the command line and the configuration is wrong.
	ExitEnvironment = 1
	// ExitUsage: the command line or the configuration file is wrong.
	ExitUsage = 2
	// ExitInterrupted is what shells report for a command that Ctrl-C has ended.
	ExitInterrupted = 130
)

// ExitError carries the exit code of the process.
type ExitError struct {
	Code int
	// Lines are printed to the user, one message each.
	Lines []string
	// Details are printed below them, indented.
	Details []string
}

// Error implements error.
func (e *ExitError) Error() string { return strings.Join(e.Lines, "\n") }

// UsageErrorf reports an error in the command line or the configuration, and how to correct it.
func UsageErrorf(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Lines: []string{fmt.Sprintf(format, args...)}}
}

// EnvironmentErrorf reports an error in the environment of the process, and how to correct it.
func EnvironmentErrorf(format string, args ...any) error {
	return &ExitError{Code: ExitEnvironment, Lines: []string{fmt.Sprintf(format, args...)}}
}

// UsageErrors joins errors about the command line: all of them are reported, each in its own line. It ignores
// nil errors, and returns nil if there is no other.
func UsageErrors(errs ...error) error {
	var lines []string
	for _, err := range errs {
		if err != nil {
			lines = append(lines, strings.Split(err.Error(), "\n")...)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &ExitError{Code: ExitUsage, Lines: lines}
}

// Report prints the error of a program's command, and returns the exit code. Every message is one line.
func Report(w io.Writer, program string, err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		for _, line := range exit.Lines {
			fmt.Fprintf(w, "%s: %s\n", program, line)
		}
		for _, line := range exit.Details {
			fmt.Fprintf(w, "  %s\n", line)
		}
		return exit.Code
	default:
		fmt.Fprintf(w, "%s: %s\n", program, strings.ReplaceAll(err.Error(), "\n", "; "))
		return ExitEnvironment
	}
}
