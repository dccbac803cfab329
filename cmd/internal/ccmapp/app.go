// Package ccmapp is the command line of ccm: the daemon with its preflight checks, and the subcommands. It
// contains no code of a cloud; it uses the registered providers.
package ccmapp

import (
	"context"
	"errors"
	"io"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// Streams are the outputs of a command: results go to Out, everything else to Err.
type Streams struct {
	Out, Err io.Writer
}

// Main runs ccm with the arguments after the program's name until it ends or ctx is cancelled.
// It returns the exit code: 0 for success, 1 when the environment is wrong, 2 for a wrong command
// line or configuration (ccm plan and ccm audit: 2 for changes, 1 for everything that is wrong).
func Main(ctx context.Context, args []string, streams Streams) int {
	defer logs.FlushLogs()
	cmd, err := newRoot(ctx)
	if err != nil {
		return cli.Report(streams.Err, "ccm", err)
	}
	cmd.SetArgs(args)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.Err)
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	executed, err := cmd.ExecuteContextC(ctx)
	code := cli.Report(streams.Err, "ccm", err)
	printsChanges := executed.Name() == planCommand || executed.Name() == auditCommand
	if printsChanges && code == cli.ExitUsage && !errors.Is(err, errChanges) {
		// For a script, 2 means changes and nothing else.
		return cli.ExitEnvironment
	}
	return code
}
