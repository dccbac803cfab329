package main

import (
	"context"
	"errors"
	"io"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// notReady is a cluster that did not become ready.
func notReady(summary string, details []string) error {
	return &cli.ExitError{Code: cli.ExitEnvironment, Lines: []string{summary}, Details: details}
}

// errInterrupted is what Ctrl-C leads to.
var errInterrupted = &cli.ExitError{Code: cli.ExitInterrupted, Lines: []string{"interrupted; nothing is left behind"}}

// report prints what ended a command and returns the exit code.
func report(w io.Writer, err error) int {
	var exit *cli.ExitError
	if errors.Is(err, context.Canceled) && !errors.As(err, &exit) {
		err = errInterrupted
	}
	return cli.Report(w, "ccm-lab", err)
}
