package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

const rootLong = `ccm-lab runs ccm on this machine, without a cloud and without a cluster: it
brings etcd, kube-apiserver and a simulation of the cloud. It uses only a
temporary directory and the loopback network, and removes everything at the
end.`

const rootExample = `  # A whole cluster, shown live; Ctrl-C ends it
  ccm-lab run

  # The same as a test: prints the final tables, and exits 1 if it does not work
  ccm-lab run --once

  # Only a cloud, for a ccm or another program
  ccm-lab sim fake > cloud.conf

  # The cost of 1,000 nodes and 200 Services
  ccm-lab bench`

func newRoot(ctx context.Context, s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ccm-lab", Short: "A whole cluster with a simulated cloud, on this machine",
		Long: rootLong, Example: rootExample,
		Args: cli.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(newRunCommand(ctx, s), newSimCommand(ctx, s), newBenchCommand(ctx, s), newCompareCommand(ctx, s))
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c) })
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		printHelp(c)
		return nil
	})
	return cmd
}

// printHelp prints a command's help: description, usage, examples, subcommands, flags.
func printHelp(cmd *cobra.Command) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\nUsage:\n", strings.TrimSpace(cmd.Long))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	cli.PrintCommands(&b, cmd)
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() && cmd.HasParent() {
		columns, _, _ := screen.Size(cmd.OutOrStdout())
		fmt.Fprintf(&b, "\nFlags:\n%s", flags.FlagUsagesWrapped(columns))
	}
	fmt.Fprint(cmd.OutOrStdout(), b.String())
}
