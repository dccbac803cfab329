package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare"
	results "github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/text"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
)

const compareLong = `Run the same scenarios on every cloud and report what each does: works, works
differently, created without it, refused, ignored in silence, or not applicable. A
verdict follows from what was observed in the cloud, in the status and in Events,
never from what a provider declares.

Each column has its own API server, its own simulated cloud and the real ccm
process. The exit code is 1 if a declaration contradicts an observation, if a
scenario leaves an object in the cloud, or if it breaks; with --baseline, it is 2
if a verdict is worse than in the baseline, or needs one call more. Periodic reads,
and reads that syncs share, differ from run to run: of scenarios that wait for a
periodic check, of operations on many Services, and of restarts, only more than
twice as many reads count.

Another manager's binary has a column for each kind of load balancers of its cloud. Its
Services have that manager's own annotations; a row that it has none for does not
apply. --add-columns shows such columns of an earlier run.

Ctrl-C ends the run with the results so far. Keep them with --out or -o json, and
continue with --resume.`

const compareExample = `  ccm-lab compare
  ccm-lab compare --provider=fake --provider=openstack --only='service.*'
  ccm-lab compare --out=comparison --baseline=old/comparison.json

  # Your own Services
  ccm-lab compare --scenario=web.yaml

  # Another manager beside ccm, on the same simulated cloud
  ccm-lab compare --provider=openstack --ccm-binary=./other-ccm --cloud-config=other.conf --name='other v1.2'

  # A manager that reads an address of the cloud from its environment
  GCE_METADATA_HOST=127.0.0.1:8099 ccm-lab compare --provider=gce --listen=127.0.0.1:8099 \
    --ccm-binary=./other-ccm --ccm-arg='--controllers=*,-nodeipam' --name='other v1.2'`

type compareOptions struct {
	providers                   []string
	binaries, configs, names    []string
	args, scenarios, add        []string
	only, servicesAt, listen    string
	output, out, baseline, from string
	reference, checkReference   string
	keep, operations            bool
}

// parallelColumns is the number of columns that run at the same time. They mostly wait. Each has an API server and
// etcd, about half a gigabyte of memory.
const parallelColumns = 5

func newCompareCommand(ctx context.Context, s streams) *cobra.Command {
	o := compareOptions{output: outputTable}
	cmd := &cobra.Command{
		Use: "compare [flags]", Short: "Compare what managers do on their clouds",
		Long: compareLong, Example: compareExample, Args: cli.NoArgs, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return runCompare(ctx, o, s) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&o.providers, "provider", nil, "A cloud to compare, of "+strings.Join(lab.Providers(), ", ")+
		"; all if not given. May be repeated.")
	fs.StringArrayVar(&o.binaries, "ccm-binary", nil,
		"Another cloud controller manager, which is a further column on the one --provider. May be repeated.")
	fs.StringArrayVar(&o.configs, "cloud-config", nil, "Its configuration file, in which "+bench.EndpointVariable+
		" stands for the cloud's URL and "+bench.ConfigVariable+" for a complete configuration file; one for each "+
		"--ccm-binary, or none.")
	fs.StringArrayVar(&o.names, "name", nil, "The name of its columns, with its version; one for each --ccm-binary.")
	fs.StringArrayVar(&o.args, "ccm-arg", nil, "An additional argument for all --ccm-binary. May be repeated.")
	fs.StringVar(&o.listen, "listen", "",
		"The address and the port of the simulated cloud of the one --ccm-binary; a free port of the loopback if empty.")
	fs.StringArrayVar(&o.add, "add-columns", nil, "Also show the columns of other managers in this result of an earlier "+
		"run, in JSON. May be repeated.")
	fs.StringVar(&o.servicesAt, "services-at", "",
		"The directory of a lab of real services, which replace the simulation; openstack only.")
	fs.StringVar(&o.only, "only", "", "Run only the scenarios with IDs that match this pattern, such as 'service.*'.")
	fs.StringArrayVar(&o.scenarios, "scenario", nil,
		"Also apply the Services of this file, as the row user.NAME. May be repeated.")
	fs.BoolVar(&o.operations, "operations", true, "Also measure the cost of operations.")
	fs.StringVarP(&o.output, "output", "o", o.output, "Output format: "+strings.Join(formats(), ", ")+".")
	fs.StringVar(&o.out, "out", "", "Also write all formats to this directory, as comparison.json, .md and .html.")
	fs.StringVar(&o.reference, "reference", "", "Also write what another run repeats to this directory, for the "+
		"documentation: without times, calls and costs.")
	fs.StringVar(&o.checkReference, "check-reference", "",
		"Run nothing, and check that the files of --reference in this directory have the rows and columns of this program.")
	fs.StringVar(&o.baseline, "baseline", "", "Compare the result with this one, in JSON.")
	fs.StringVar(&o.from, "resume", "", "Continue an interrupted run, with its result in JSON.")
	fs.BoolVar(&o.keep, "keep", false, "Keep the directory with logs and etcd's data, and print its path.")
	return cmd
}

func (o compareOptions) validate() error {
	var errs []error
	for _, name := range o.providers {
		errs = append(errs, checkProvider("--provider="+name, name))
	}
	if _, ok := writers()[o.output]; !ok {
		errs = append(errs, cli.UsageErrorf("--output=%s: use %s", o.output, strings.Join(formats(), ", ")))
	}
	if len(o.names) != len(o.binaries) {
		errs = append(errs, cli.UsageErrorf("--name is given %d times and --ccm-binary %d times: give each binary a name",
			len(o.names), len(o.binaries)))
	}
	if n := len(o.configs); n != 0 && n != len(o.binaries) {
		errs = append(errs, cli.UsageErrorf("--cloud-config is given %d times and --ccm-binary %d times: give each binary "+
			"one, or none", n, len(o.binaries)))
	}
	if len(o.binaries) > 0 && len(o.providers) != 1 {
		errs = append(errs, cli.UsageErrorf("--ccm-binary needs one --provider, the cloud that it runs on"))
	}
	if o.listen != "" && len(o.binaries) != 1 {
		errs = append(errs, cli.UsageErrorf("--listen needs one --ccm-binary"))
	}
	for _, binary := range o.binaries {
		errs = append(errs, checkBinary(binary))
	}
	return cli.UsageErrors(errs...)
}

// checkBinary rejects a path that is not an executable file.
func checkBinary(path string) error {
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return cli.UsageErrorf("--ccm-binary=%s: no such program", path)
	}
	return nil
}

// columns returns the columns to compare.
func (o compareOptions) columns() ([]compare.Column, error) {
	names := o.providers
	if len(names) == 0 {
		names = lab.Providers()
	}
	var out []compare.Column
	for _, name := range names {
		out = append(out, compare.Columns(name, o.servicesAt)...)
	}
	if len(o.providers) == 0 && len(o.binaries) == 0 && o.servicesAt == "" {
		out = append(out, compare.MixedColumn(openstack.ProviderName, aws.ProviderName))
	}
	for i, binary := range o.binaries {
		manager := bench.Manager{Binary: binary, Args: o.args, Listen: o.listen}
		if len(o.configs) > 0 {
			content, err := os.ReadFile(o.configs[i])
			if err != nil {
				return nil, cli.UsageErrorf("--cloud-config=%s cannot be read: %v", o.configs[i], err)
			}
			manager.CloudConfig = string(content)
		}
		out = append(out, compare.ManagerColumns(o.names[i], o.providers[0], o.servicesAt, manager)...)
	}
	seen := map[string]bool{}
	for _, column := range out {
		if seen[column.Name] {
			return nil, cli.UsageErrorf("--name=%s: there is another column with this name; choose another", column.Name)
		}
		seen[column.Name] = true
	}
	return out, nil
}

// rows returns the scenarios to run.
func (o compareOptions) rows() ([]compare.Scenario, error) {
	all := compare.Scenarios()
	examples, err := compare.Examples()
	if err != nil {
		return nil, err
	}
	all = append(all, examples...)
	for _, file := range o.scenarios {
		s, err := compare.UserScenario(file)
		if err != nil {
			return nil, cli.UsageErrorf("--scenario=%v", err)
		}
		all = append(all, s)
	}
	rows, err := compare.Select(all, o.only)
	if err != nil {
		return nil, cli.UsageErrorf("--only: %v", err)
	}
	return rows, nil
}

// readResults reads the results of other runs.
func readResults(flag string, paths []string) ([]results.Report, error) {
	var out []results.Report
	var errs []error
	for _, path := range paths {
		r, err := readResult(flag, path)
		if errs = append(errs, err); r != nil {
			out = append(out, *r)
		}
	}
	return out, cli.UsageErrors(errs...)
}

func runCompare(ctx context.Context, o compareOptions, s streams) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	columns, columnsErr := o.columns()
	rows, rowsErr := o.rows()
	baseline, baselineErr := readResult("baseline", o.baseline)
	resumed, resumeErr := readResult("resume", o.from)
	added, addErr := readResults("add-columns", o.add)
	if err := cli.UsageErrors(columnsErr, rowsErr, baselineErr, resumeErr, addErr); err != nil {
		return err
	}
	if o.checkReference != "" {
		return checkReference(o.checkReference, rows, columns)
	}
	p := newProgress(s.err)
	options := compare.Options{
		Version: version.Get().GitVersion, Date: time.Now().UTC().Format(time.DateOnly), Columns: columns, Scenarios: rows,
		Add:        added,
		Operations: o.operations && o.only == "", Parallel: parallelColumns, Resume: resumed,
		Notify: func(line string) { p.say("%s", line) },
	}
	if options.Binaries, err = lab.FindBinaries(); err != nil && !compare.IsComplete(options) {
		return err
	}
	dir, err := makeDirectory(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close(p)) }()
	options.Dir = dir.path
	result, runErr := compare.Run(ctx, options)
	if err := writeComparison(o, s, result); err != nil {
		return errors.Join(runErr, err)
	}
	if runErr != nil {
		return interruptedComparison(result)
	}
	return verdictOf(s, result, baseline)
}

// writeComparison prints a comparison, and writes all formats to the directory of --out.
func writeComparison(o compareOptions, s streams, r results.Report) error {
	var errs []error
	if o.out != "" {
		errs = append(errs, writeAll(o.out, writers(), r))
	}
	if o.reference != "" {
		errs = append(errs, writeAll(o.reference, referenceWriters(), compare.Reference(r)))
	}
	return errors.Join(append(errs, writers()[o.output](s.out, r))...)
}

// interruptedComparison returns the error of an interrupted run, with the missing results.
func interruptedComparison(r results.Report) error {
	return &cli.ExitError{
		Code:  cli.ExitInterrupted,
		Lines: []string{fmt.Sprintf("interrupted; %d results are missing, continue with --resume:", len(r.Missing))},
		// One line for each would fill many screens.
		Details: []string{strings.Join(r.Missing, ", ")},
	}
}

// verdictOf returns the error of a comparison that is not clean, or worse than its baseline.
func verdictOf(s streams, r results.Report, baseline *results.Report) error {
	if details := compare.Failures(r); len(details) > 0 {
		return &cli.ExitError{Code: cli.ExitEnvironment, Lines: []string{"the comparison is not clean:"}, Details: details}
	}
	if baseline == nil {
		return nil
	}
	difference := text.Compare(*baseline, r)
	if err := difference.Table(s.err, terminalWidth(s.err)); err != nil {
		return err
	}
	if difference.Regressed() {
		return &cli.ExitError{Code: exitRegressed, Lines: []string{"worse than the baseline"}}
	}
	return nil
}

// exitRegressed is the exit code of a comparison that is worse than its baseline.
const exitRegressed = 2
