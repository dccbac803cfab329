package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/cmd/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const rootLong = `ccm-lab runs ccm on this machine, without a cloud and without a cluster: it
brings etcd, kube-apiserver and a simulation of the cloud. Nothing outside of
a temporary directory and the loopback network is touched, and nothing is left
behind.`

const rootExample = `  # A whole cluster, shown live; Ctrl-C ends it
  ccm-lab run

  # The same as a test: prints the final tables, and exits 1 if it does not work
  ccm-lab run --once

  # Only a cloud, for a ccm or a program of your own
  ccm-lab sim fake > cloud.conf

  # What 1,000 nodes and 200 Services cost
  ccm-lab bench`

func newRoot(ctx context.Context, s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ccm-lab", Short: "A whole cluster with a simulated cloud, on this machine",
		Long: rootLong, Example: rootExample,
		Args: noSuchCommand, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(newRunCommand(ctx, s), newSimCommand(ctx, s), newBenchCommand(ctx, s))
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	cmd.SetFlagErrorFunc(badFlag)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c) })
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		printHelp(c)
		return nil
	})
	return cmd
}

// noSuchCommand answers a word that is no subcommand.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if near := provider.Nearest(args[0], known); near != "" {
		return usageErrorf("there is no command %q; did you mean %s?", args[0], near)
	}
	if len(known) == 0 {
		return usageErrorf("%s takes no arguments, but there is %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return usageErrorf("there is no command %q; the commands are %s", args[0], strings.Join(known, ", "))
}

// badFlag answers a flag that does not exist or has a value that it cannot have.
func badFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageErrorf("%s; see %s --help", err, cmd.CommandPath())
	}
	word := unknown.GetSpecifiedName()
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := provider.Nearest(word, known); near != "" && len(word) > 1 {
		return usageErrorf("there is no flag --%s; did you mean --%s?", word, near)
	}
	return usageErrorf("there is no flag %s; see %s --help", strings.Repeat("-", min(2, len(word)))+word, cmd.CommandPath())
}

// checkProvider answers a cloud that cannot be simulated.
func checkProvider(flag, name string) error {
	known := lab.Providers()
	if slices.Contains(known, name) {
		return nil
	}
	if near := provider.Nearest(name, known); near != "" {
		return usageErrorf("%s: there is no simulated cloud %q; did you mean %s?", flag, name, near)
	}
	return usageErrorf("%s: there is no simulated cloud %q; there are: %s", flag, name, strings.Join(known, ", "))
}

func checkRange(flag string, value, low, high int) error {
	if value < low || value > high {
		return usageErrorf("--%s=%d: use %d to %d", flag, value, low, high)
	}
	return nil
}

// printHelp prints a command's help: what it is, how it is used, examples, subcommands, flags.
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
	printCommands(&b, cmd)
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() && cmd.HasParent() {
		columns, _, _ := screen.Size(cmd.OutOrStdout())
		fmt.Fprintf(&b, "\nFlags:\n%s", flags.FlagUsagesWrapped(columns))
	}
	fmt.Fprint(cmd.OutOrStdout(), b.String())
}

func printCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, "\nCommands (each has --help):")
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(t, "  %s\t%s\n", c.Name(), c.Short)
		}
	}
	_ = t.Flush()
}
