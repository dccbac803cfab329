package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare"
	results "github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

const compareLong = `Run the same scenarios on every cloud and report what each does: works, works
differently, refuses with a message, ignores in silence, or not applicable. A
verdict follows from what was observed in the cloud, in the status and in Events,
never from what a provider declares.

Each column has its own API server, its own simulated cloud and the real ccm
process. The exit code is 1 if a declaration contradicts an observation, if a
scenario leaves an object in the cloud, or if it breaks.`

const compareExample = `  ccm-lab compare
  ccm-lab compare --provider=fake --provider=openstack --only='service.*'`

type compareOptions struct {
	providers []string
	only      string
	output    string
	keep      bool
}

// parallelColumns is the number of columns that run at the same time. Each has an API server and etcd.
const parallelColumns = 2

func newCompareCommand(ctx context.Context, s streams) *cobra.Command {
	o := compareOptions{output: outputJSON}
	cmd := &cobra.Command{
		Use: "compare [flags]", Short: "Compare what managers do on their clouds",
		Long: compareLong, Example: compareExample, Args: cli.NoSuchCommand, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return runCompare(ctx, o, s) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&o.providers, "provider", nil, "A cloud to compare, of "+strings.Join(lab.Providers(), ", ")+
		"; all if not given. May be repeated.")
	fs.StringVar(&o.only, "only", "", "Run only the scenarios with IDs that match this pattern, such as 'service.*'.")
	fs.StringVarP(&o.output, "output", "o", o.output, "Output format: json.")
	fs.BoolVar(&o.keep, "keep", false, "Keep the directory with logs and etcd's data, and print its path.")
	return cmd
}

func (o compareOptions) validate() error {
	var errs []error
	for _, name := range o.providers {
		errs = append(errs, checkProvider("--provider="+name, name))
	}
	if o.output != outputJSON {
		errs = append(errs, cli.UsageErrorf("--output=%s: use json", o.output))
	}
	return cli.UsageErrors(errs...)
}

// columns returns the columns to compare.
func (o compareOptions) columns() []compare.Column {
	names := o.providers
	if len(names) == 0 {
		names = lab.Providers()
	}
	var out []compare.Column
	for _, name := range names {
		out = append(out, compare.Columns(name, "")...)
	}
	return out
}

// problemsOf returns the error of a comparison that found a contradiction, an orphan or a scenario that broke.
func problemsOf(r results.Report) error {
	details := compare.Failures(r)
	if len(details) == 0 {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitEnvironment, Lines: []string{"the comparison is not clean:"}, Details: details}
}

func runCompare(ctx context.Context, o compareOptions, s streams) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	scenarios, err := compare.Select(compare.Scenarios(), o.only)
	if err != nil {
		return cli.UsageErrorf("--only: %v", err)
	}
	binaries, err := lab.FindBinaries()
	if err != nil {
		return err
	}
	p := newProgress(s.err)
	dir, err := makeDirectory(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close(p)) }()
	result, err := compare.Run(ctx, compare.Options{
		Binaries: binaries, Dir: dir.path, Version: version.Get().GitVersion, Columns: o.columns(), Scenarios: scenarios,
		Parallel: parallelColumns, Notify: func(line string) { p.say("%s", line) },
	})
	e := json.NewEncoder(s.out)
	e.SetIndent("", "  ")
	if printErr := e.Encode(result); printErr != nil {
		return errors.Join(err, printErr)
	}
	if len(result.Missing) > 0 {
		return errors.Join(err, fmt.Errorf("interrupted; missing are %s", strings.Join(result.Missing, ", ")))
	}
	return errors.Join(err, problemsOf(result))
}
