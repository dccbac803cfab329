package main

import (
	"context"
	"errors"
	"io"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// notReady reports that the cluster did not become ready.
func notReady(summary string, details []string) error {
	return &cli.ExitError{Code: cli.ExitEnvironment, Lines: []string{summary}, Details: details}
}

// errInterrupted reports that the user pressed Ctrl-C.
var errInterrupted = &cli.ExitError{
	Code:  cli.ExitInterrupted,
	Lines: []string{"interrupted; everything was stopped and removed"},
}

// report prints the error of a command and returns the exit code.
func report(w io.Writer, err error) int {
	var exit *cli.ExitError
	if errors.Is(err, context.Canceled) && !errors.As(err, &exit) {
		err = errInterrupted
	}
	return cli.Report(w, "ccm-lab", err)
}
