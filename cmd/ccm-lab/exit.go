package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes, the same as ccm's.
const (
	exitOK          = 0
	exitEnvironment = 1
	exitUsage       = 2
	// exitInterrupted is what shells give a command that Ctrl-C has ended.
	exitInterrupted = 130
)

// usageError is about the command line.
type usageError struct{ message string }

// Error implements error.
func (e *usageError) Error() string { return e.message }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// usageErrors joins errors of usageErrorf: all of them are reported, each in its line.
func usageErrors(errs ...error) error {
	var messages []string
	for _, err := range errs {
		if err != nil {
			messages = append(messages, err.Error())
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &usageError{strings.Join(messages, "\n")}
}

// notReadyError is a cluster that did not become ready. It is the one error of several lines.
type notReadyError struct {
	summary string
	details []string
}

// Error implements error.
func (e *notReadyError) Error() string { return e.summary }

// report prints what ended a command and returns the exit code. Every message is one line.
func report(w io.Writer, err error) int {
	var usage *usageError
	var notReady *notReadyError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		for message := range strings.SplitSeq(usage.message, "\n") {
			fmt.Fprintf(w, "ccm-lab: %s\n", message)
		}
		return exitUsage
	case errors.As(err, &notReady):
		fmt.Fprintf(w, "ccm-lab: %s\n", notReady.summary)
		for _, line := range notReady.details {
			fmt.Fprintf(w, "  %s\n", line)
		}
		return exitEnvironment
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "ccm-lab: interrupted; nothing is left behind")
		return exitInterrupted
	default:
		fmt.Fprintf(w, "ccm-lab: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitEnvironment
	}
}
