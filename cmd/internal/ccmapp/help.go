package ccmapp

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/term"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const rootLong = `ccm is one cloud controller manager for several clouds. It initializes nodes,
reconciles load balancers for Services of type LoadBalancer, sets up pod routes,
and deletes the nodes of deleted machines. --cloud-provider selects the cloud;
each cloud's own cloud.conf and annotations work unchanged.`

const rootExample = `  # Run in a cluster, on the cloud called fake
  ccm --cloud-provider=fake --cloud-config=/etc/kubernetes/cloud.conf

  # Show what it would change in your cluster, beside the manager that runs now
  ccm --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=$HOME/.kube/config --dry-run

  # Check a configuration file
  ccm config validate --cloud-provider=fake --cloud-config=cloud.conf

  # Show the plan of a Service before you create it
  ccm plan --cloud-provider=fake -f service.yaml

  # List what the cloud has of each cluster, and what nothing needs
  ccm audit --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=$HOME/.kube/config`

// essentials are the most used flags; the others follow in their sections.
var essentials = []string{flagProvider, flagConfig, flagKubeconfig, flagClusterName, flagClusterCIDR, flagDryRun,
	"leader-elect", "v"}

// printHelp prints a command's help: description, usage, examples, subcommands, flags.
func printHelp(cmd *cobra.Command, o *options) {
	out := cmd.OutOrStdout()
	columns := terminalWidth(out)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\nUsage:\n", strings.TrimSpace(cmd.Long))
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	cli.PrintCommands(&b, cmd)
	if cmd.HasParent() {
		printFlags(&b, "Flags", cmd.LocalFlags(), columns)
	} else {
		printProviders(&b)
		printRootFlags(&b, cmd, o, columns)
	}
	_, _ = out.Write(b.Bytes())
}

func printProviders(w io.Writer) {
	fmt.Fprintln(w, "\nProviders in this binary:")
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, d := range provider.All() {
		fmt.Fprintf(t, "  %s\t%s. %s\n", d.Name, strings.TrimSuffix(d.Title, "."), d.Summary)
	}
	_ = t.Flush()
}

func printRootFlags(w io.Writer, cmd *cobra.Command, o *options, columns int) {
	essential := pflag.NewFlagSet("essential", pflag.ContinueOnError)
	for _, name := range essentials {
		if f := cmd.Flags().Lookup(name); f != nil {
			essential.AddFlag(f)
		}
	}
	essential.SortFlags = false
	printFlags(w, "The most used flags (all flags follow by subject)", essential, columns)
	cliflag.PrintSections(w, sections(cmd.Flags(), o), columns)
}

func printFlags(w io.Writer, title string, fs *pflag.FlagSet, columns int) {
	if fs.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n\n%s", title, fs.FlagUsagesWrapped(columns))
	}
}

// terminalWidth returns the number of columns of a terminal, or 0 for other outputs.
func terminalWidth(w io.Writer) int {
	columns, _, err := term.TerminalSize(w)
	if err != nil {
		return 0
	}
	return columns
}

// sections sorts the daemon's flags into sections: ours, then the framework's, then those that
// every Kubernetes component has.
func sections(all *pflag.FlagSet, o *options) cliflag.NamedFlagSets {
	var sorted cliflag.NamedFlagSets
	placed := map[string]bool{}
	place := func(groups cliflag.NamedFlagSets) {
		for _, section := range groups.Order {
			groups.FlagSets[section].VisitAll(func(f *pflag.Flag) {
				if actual := all.Lookup(f.Name); actual != nil && !placed[f.Name] {
					placed[f.Name] = true
					sorted.FlagSet(section).AddFlag(actual)
				}
			})
		}
	}
	place(o.flagSets)
	// A second set of options lists the sections; adding flags twice to the real one would reset its values.
	if framework, err := frameworkOptions(); err == nil {
		place(framework.Flags(app.ControllerNames(o.constructors()), app.ControllersDisabledByDefault.List(),
			provider.ControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks))
	}
	all.VisitAll(func(f *pflag.Flag) {
		if !placed[f.Name] {
			sorted.FlagSet("global").AddFlag(f)
		}
	})
	return sorted
}
