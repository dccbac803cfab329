package ccmapp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// planCommand is the name of the command, whose exit codes are its own.
const planCommand = "plan"

func newPlanCommand() *cobra.Command {
	o := planOptions{clusterName: "kubernetes", routes: controllers.AllRoutes(), output: outputText, color: colorAuto}
	cmd := &cobra.Command{
		Use:   planCommand + " --cloud-provider=NAME[,NAME] (-f FILE | --service=NS/NAME | --all)",
		Short: "Show what would change in the cloud, and why, without changing anything",
		Long: `Show what the manager would change in the cloud, and why, without changing
anything in the cloud or in the cluster. Services come from files or from the
cluster; nodes come from the same files if they contain any, or else from the
cluster.

Changes that the manager would hold are listed with the reason and with the ID
that approves them.

Exit codes: 0 when nothing would change or all changes are held, 2 when
something would change, 1 when a plan could not be made, which the output says
too.`,
		Example: `  # What would be created for this Service?
  ccm plan --cloud-provider=fake --cloud-config=cloud.conf -f service.yaml

  # Has the cloud drifted from the cluster?
  ccm plan --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=$HOME/.kube/config --all

  # One Service, for a script
  ccm plan --cloud-provider=fake --kubeconfig=$HOME/.kube/config --service=default/web -o json`,
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runPlan(cmd, o) },
	}
	fs := cmd.Flags()
	fs.StringSliceVarP(&o.files, "filename", "f", nil,
		"YAML or JSON file with Services, and optionally Nodes; - is standard input. May be repeated.")
	fs.StringSliceVar(&o.services, "service", nil, "Service of the cluster, as NAMESPACE/NAME. May be repeated.")
	fs.BoolVar(&o.all, "all", false, "All Services of the cluster that have or need a load balancer, and the pod routes.")
	o.addClusterFlags(cmd)
	return cmd
}

func runPlan(cmd *cobra.Command, o planOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	planners, err := newPlanners(cmd.Context(), o, cmd.ErrOrStderr(), false)
	if err != nil {
		return err
	}
	stdin, err := stdinOf(cmd, o)
	if err != nil {
		return err
	}
	var outcomes []error
	for _, p := range planners {
		if err := printCloud(cmd.OutOrStdout(), o, p, len(planners)); err != nil {
			return err
		}
		outcomes = append(outcomes, planCloud(cmd, o, p, bytes.NewReader(stdin)))
	}
	return joinOutcomes(outcomes)
}

// stdinOf reads the standard input if a file is -: each cloud reads the files.
func stdinOf(cmd *cobra.Command, o planOptions) ([]byte, error) {
	if !slices.Contains(o.files, "-") {
		return nil, nil
	}
	content, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return nil, cli.EnvironmentErrorf("-f -: %s", cli.Cause(err))
	}
	return content, nil
}

// printCloud prints the heading of one of several clouds. In JSON each cloud has a document of its own.
func printCloud(w io.Writer, o planOptions, p *planner, clouds int) error {
	if clouds == 1 || o.output == outputJSON {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n=== %s ===\n", p.source.Title); err != nil {
		return cli.EnvironmentErrorf("the output cannot be printed: %v", err)
	}
	return nil
}

// joinOutcomes returns the outcome of a command about several clouds: what went wrong in any, or else that there are
// changes in any.
func joinOutcomes(outcomes []error) error {
	var lines []string
	var changes error
	for _, err := range outcomes {
		switch {
		case err == nil:
		case errors.Is(err, errChanges):
			changes = err
		case len(outcomes) == 1:
			return err
		default:
			lines = append(lines, linesOf(err)...)
		}
	}
	if len(lines) > 0 {
		return &cli.ExitError{Code: cli.ExitEnvironment, Lines: lines}
	}
	return changes
}

// planCloud plans and prints one cloud.
func planCloud(cmd *cobra.Command, o planOptions, p *planner, stdin io.Reader) error {
	input, err := p.read(cmd.Context(), stdin)
	if err != nil {
		return err
	}
	plans, failed := p.plan(cmd.Context(), input)
	if err := render(cmd.OutOrStdout(), o, p.source.Name, plans, failed); err != nil {
		return cli.EnvironmentErrorf("the plan cannot be printed: %v", err)
	}
	if len(failed) > 0 {
		return &cli.ExitError{Code: cli.ExitEnvironment, Lines: failed}
	}
	for _, p := range plans {
		if !p.Empty() {
			return errChanges
		}
	}
	return nil
}

// check validates the flags.
func (o planOptions) check() error {
	selections := 0
	for _, isSet := range []bool{len(o.files) > 0, len(o.services) > 0, o.all} {
		if isSet {
			selections++
		}
	}
	if selections != 1 {
		return cli.UsageErrorf("specify exactly one of -f FILE, --service=NAMESPACE/NAME and --all")
	}
	for _, service := range o.services {
		if namespace, name, ok := strings.Cut(service, "/"); !ok || namespace == "" || name == "" {
			return cli.UsageErrorf("--service=%s: write NAMESPACE/NAME, for example default/%s", service,
				strings.Trim(service, "/"))
		}
	}
	return o.checkCluster()
}

// render writes the plans of a provider, and failed, a line for each that could not be made.
func render(w io.Writer, o planOptions, provider string, plans []plan.Plan, failed []string) error {
	if o.output == outputJSON {
		return plan.RenderJSON(w, provider, failed, plans...)
	}
	options := plan.TextOptions{Color: o.colored(w), Width: terminalWidth(w), Verbose: o.verbose, Failed: len(failed)}
	return plan.RenderText(w, options, plans...)
}

// colored reports whether the output has colours. auto follows the convention of https://no-color.org.
func (o planOptions) colored(w io.Writer) bool {
	switch o.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminalWidth(w) > 0
}

// exitChanges is the exit code of ccm plan if it found changes.
const exitChanges = 2

// errChanges is the outcome of a plan with changes. It has no message: the plan has been printed.
var errChanges = &cli.ExitError{Code: exitChanges}
