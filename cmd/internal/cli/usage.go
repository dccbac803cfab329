package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// NoArgs is cobra's Args of commands without arguments. It names the nearest subcommand.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if nearest := provider.Nearest(args[0], known); nearest != "" {
		return UsageErrorf("there is no command %q; did you mean %s?", args[0], nearest)
	}
	if len(known) == 0 {
		return UsageErrorf("%s takes no arguments, but there is %q; see %s --help", cmd.CommandPath(), args[0],
			cmd.CommandPath())
	}
	return UsageErrorf("there is no command %q; the commands are %s", args[0], strings.Join(known, ", "))
}

// FlagError is cobra's FlagErrorFunc: it reports a flag that does not exist, or has an invalid value.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return UsageErrorf("%s; see %s --help", err, cmd.CommandPath())
	}
	word := unknown.GetSpecifiedName()
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if nearest := provider.Nearest(word, known); nearest != "" && len(word) > 1 {
		return UsageErrorf("there is no flag --%s; did you mean --%s?", word, nearest)
	}
	return UsageErrorf("there is no flag %s; see %s --help", strings.Repeat("-", min(2, len(word)))+word,
		cmd.CommandPath())
}

// PrintCommands lists a command's subcommands in its help, if it has any.
func PrintCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	fmt.Fprintln(w, "\nCommands (each has --help):")
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			fmt.Fprintf(t, "  %s\t%s\n", c.Name(), c.Short)
		}
	}
	_ = t.Flush() // It writes to memory or to standard output; a failure cannot be reported.
}
