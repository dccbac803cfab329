package ccmapp

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// newRoot builds the command line. The root command is the framework's, with its flags; ours are
// added to them, and what it runs is led through the daemon's preflight.
func newRoot(ctx context.Context) (*cobra.Command, error) {
	o, err := newOptions()
	if err != nil {
		return nil, err
	}
	d := newDaemon(o)
	cmd := app.NewCloudControllerManagerCommand(o.framework, d.initialize, o.constructors(), names.CCMControllerAliases(), o.own, ctx.Done())
	cmd.Use = "ccm"
	cmd.Short = "The cloud controller manager for every cloud"
	cmd.Long = rootLong
	cmd.Example = rootExample
	cmd.RunE = d.run(cmd.RunE) //nolint:contextcheck // It takes the command's context.
	cmd.Args = noSuchCommand
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.CompletionOptions.HiddenDefaultCmd = true
	if err := explainDefaults(cmd.Flags()); err != nil {
		return nil, err
	}
	//nolint:contextcheck // Each takes its command's context.
	cmd.AddCommand(newPlanCommand(), newConfigCommand(), newProvidersCommand(), newVersionCommand(), newDocsCommand(o))
	cmd.SetFlagErrorFunc(badFlag)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c, o) })
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		printHelp(c, o)
		return nil
	})
	return cmd, nil
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
