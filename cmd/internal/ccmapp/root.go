package ccmapp

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/app"

	"github.com/unified-ccm/unified-ccm/cmd/internal/chartvalues"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// newRoot builds the command line. The root command is the framework's, with its flags; it adds our flags,
// and runs the daemon's preflight before the framework.
func newRoot(ctx context.Context) (*cobra.Command, error) {
	registerForeignPrefixes()
	o, err := newOptions()
	if err != nil {
		return nil, err
	}
	d := newDaemon(o, ctx.Done())
	cmd := app.NewCloudControllerManagerCommand(o.framework, d.initialize, o.constructors(),
		provider.ControllerAliases(), o.flagSets, d.stopped)
	cmd.Use = "ccm"
	cmd.Short = "The cloud controller manager for every cloud"
	cmd.Long = rootLong
	cmd.Example = rootExample
	cmd.RunE = d.run(cmd.RunE) //nolint:contextcheck // It takes the command's context.
	cmd.Args = cli.NoArgs
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.CompletionOptions.HiddenDefaultCmd = true
	o.replaceRoutesFlag(cmd.Flags())
	if err := explainDefaults(cmd.Flags()); err != nil {
		return nil, err
	}
	//nolint:contextcheck // Each takes its command's context.
	cmd.AddCommand(newPlanCommand(), newAuditCommand(), newConfigCommand(), newProvidersCommand(),
		newVersionCommand(), newDocsCommand(o),
		chartvalues.NewCommand(func(name string) bool { return cmd.Flags().Lookup(name) != nil }))
	cmd.SetFlagErrorFunc(cli.FlagError)
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(c, o) })
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		printHelp(c, o)
		return nil
	})
	return cmd, nil
}
