package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

const benchLong = `Measure what ccm costs: calls to the cloud, seconds, CPU time and memory, with a
real API server, the real ccm process and a simulated cloud with a fixed
latency per call.

The phases, one after the other on one cluster:
  nodes joining      machines are launched and register, until all are initialized
  nodes refreshed    one pass of --node-status-update-frequency over all nodes
  Services created   until every one has the address of its load balancer
  1 Service          one more is created, and deleted
  1 node added       until it is initialized and a member of every load balancer
  restart            a new ccm with empty caches, until every Service is ensured;
                     twice, since the second can use what the first one recorded
  delete all         Services, until no load balancer is left, then the nodes
  idle with routes   one node with a pod route, and no changes for a minute

Pod routes are off until the last phase, because one for each node would hide
everything else. Leader election and ccm's audit, which spreads its reads over
half an hour, are off too. A phase that makes no progress for 10 seconds prints
what it waits for. Seconds include the API server's share; CPU and memory are of
the ccm process alone; memory is its peak since its start. If the provider has
targets, they are printed beside the results, and the exit code is 1 if ccm
makes more calls than they allow.

With several clouds, each of them has these nodes and Services, first alone and
then with one manager for all. Alone, as many other nodes register at the same
time as there are with one manager: nodes that join together share calls. The
phases are nodes joining, with and without the label of their cloud, Services
created, both restarts and delete all, and the table compares calls, seconds and
memory.

With --failing, one of several clouds is idle, works, hangs, answers errors,
throttles, denies, answers for another account, and is idle again; unless it is
idle, it has nodes and Services to create. Meanwhile nodes and Services of the
other clouds come one after the other, and the table compares their latencies.
The exit code is 1 if a node or a load balancer of the failing cloud is removed.

To measure another cloud controller manager, name its binary and give it a
configuration with the address of the simulated cloud. Real services can replace
the simulation: for OpenStack those of hack/openstack-lab, in a project that is
created for the benchmark and deleted after it.`

const benchExample = `  ccm-lab bench
  ccm-lab bench --nodes=100 --services=20
  ccm-lab bench -o json > bench.json

  # Three clouds in one manager, and each alone
  ccm-lab bench --provider=aws,openstack,vsphere --nodes=300 --services=20

  # Two clouds beside a third one that fails
  ccm-lab bench --provider=fake,openstack,aws --failing=aws

  # Another manager; ${ENDPOINT} in its cloud.conf stands for the simulated cloud
  ccm-lab bench --ccm-binary=./other-ccm --cloud-config=other.conf --ccm-arg=--v=4

  # On real OpenStack services; ${CLOUD_CONFIG} stands for a complete cloud.conf
  ccm-lab bench --provider=openstack --services-at=/var/tmp/openstack --nodes=10 --services=5

  # A manager that reads the address of the cloud from its environment
  AWS_ENDPOINT_URL=http://127.0.0.1:8099 ccm-lab bench --listen=127.0.0.1:8099 --ccm-binary=./other-ccm`

type benchOptions struct {
	provider, output, jsonFile string
	failing                    string
	nodes, services            int
	latency, phaseTimeout      time.Duration
	phases                     []string
	keep                       bool
	annotations                map[string]string
	manager                    bench.Manager
	cloudConfig, servicesAt    string
}

func newBenchCommand(ctx context.Context, s streams) *cobra.Command {
	o := benchOptions{provider: fake.ProviderName, output: outputTable, nodes: 1000, services: 200,
		phaseTimeout: bench.DefaultPhaseTimeout}
	cmd := &cobra.Command{
		Use: "bench [flags]", Short: "Measure calls, seconds, CPU and memory",
		Long: benchLong, Example: benchExample, Args: cli.NoArgs, DisableFlagsInUseLine: true,
	}
	fs := cmd.Flags()
	cmd.RunE = func(*cobra.Command, []string) error {
		if !fs.Changed(latencyFlag) {
			for _, name := range o.providers() {
				o.latency = max(o.latency, lab.Latency(name))
			}
		}
		if o.failing != "" {
			for flag, value := range map[string]*int{nodesFlag: &o.nodes, servicesFlag: &o.services} {
				if !fs.Changed(flag) {
					*value = failingSamples
				}
			}
		}
		return benchmark(ctx, o, s)
	}
	fs.SortFlags = false
	fs.StringVar(&o.provider, "provider", o.provider, "The cloud to simulate: "+strings.Join(lab.Providers(), ", ")+
		". With commas several, alone and in one manager.")
	fs.StringVar(&o.failing, "failing", "",
		"One of several clouds: it fails, and the latencies of the others are measured.")
	fs.IntVar(&o.nodes, nodesFlag, o.nodes, fmt.Sprintf("Number of nodes that join, in each cloud; with --failing %d.",
		failingSamples))
	fs.IntVar(&o.services, servicesFlag, o.services, fmt.Sprintf(
		"Number of Services to create, in each cloud; with --failing %d.", failingSamples))
	fs.DurationVar(&o.latency, latencyFlag, 0,
		"Latency of each call to the cloud; if not given, "+usualLatencies()+", and the longest of several clouds.")
	fs.StringVar(&o.manager.Binary, "ccm-binary", "",
		"The cloud controller manager to measure; ccm of this repository if empty.")
	fs.StringVar(&o.cloudConfig, "cloud-config", "", "Its configuration file, in which "+bench.EndpointVariable+
		" stands for the cloud's URL and "+bench.ConfigVariable+" for a complete configuration file; it is generated if "+
		"empty.")
	fs.StringArrayVar(&o.manager.Args, "ccm-arg", nil, "An additional argument for it. May be repeated.")
	fs.StringVar(&o.manager.Listen, "listen", "",
		"The address and the port of the simulated cloud; a free port of the loopback if empty.")
	fs.StringVar(&o.servicesAt, "services-at", "",
		"The directory of a lab of real services, which replace the simulation; openstack only.")
	fs.StringToStringVar(&o.annotations, "service-annotation", nil,
		"An additional annotation of all Services, as key=value. May be repeated.")
	fs.StringSliceVar(&o.phases, "phases", nil, "The phases to run, separated by commas; all if empty. Each needs those "+
		"that create what it changes: "+strings.Join(lab.Phases(), ", ")+".")
	fs.DurationVar(&o.phaseTimeout, "phase-timeout", o.phaseTimeout, "The maximum duration of a phase.")
	fs.StringVarP(&o.output, "output", "o", o.output, "Output format: table or json.")
	fs.StringVar(&o.jsonFile, "json-file", "", "Also write the JSON to this file.")
	fs.BoolVar(&o.keep, "keep", o.keep, "Keep the directory with logs and etcd's data, and print its path.")
	return cmd
}

// usualLatencies describes the default latency of each cloud.
func usualLatencies() string {
	var list []string
	for _, name := range lab.Providers() {
		list = append(list, lab.Latency(name).String()+" of "+name)
	}
	return strings.Join(list, ", ")
}

func (o benchOptions) validate() error {
	var output, latency error
	if o.output != outputTable && o.output != outputJSON {
		output = cli.UsageErrorf("--output=%s: use table or json", o.output)
	}
	if o.latency < 0 {
		latency = cli.UsageErrorf("--latency=%s: must not be negative", o.latency)
	}
	var binary error
	if o.manager.Binary != "" {
		binary = checkBinary(o.manager.Binary)
	}
	return cli.UsageErrors(
		checkProviders(o.providers()), o.validateClouds(), binary,
		checkRange(nodesFlag, o.nodes, 1, maxBench),
		checkRange(servicesFlag, o.services, 1, maxBench),
		latency, output, o.validatePhases(),
	)
}

func (o benchOptions) providers() []string { return strings.Split(o.provider, ",") }

// validateClouds reports flags that have no meaning with several clouds.
func (o benchOptions) validateClouds() error {
	if o.failing != "" && (len(o.providers()) == 1 || !slices.Contains(o.providers(), o.failing)) {
		return cli.UsageErrorf("--failing=%s: name one of several clouds in --provider", o.failing)
	}
	if len(o.providers()) == 1 {
		return nil
	}
	var errs []error
	for flag, set := range map[string]bool{
		"ccm-binary": o.manager.Binary != "", "cloud-config": o.cloudConfig != "", "listen": o.manager.Listen != "",
		"phases": len(o.phases) > 0, "services-at": o.servicesAt != "", "service-annotation": len(o.annotations) > 0,
	} {
		if set {
			errs = append(errs, cli.UsageErrorf("--%s needs one cloud in --provider", flag))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return cli.UsageErrors(errs...)
}

func (o benchOptions) validatePhases() error {
	if o.phaseTimeout <= 0 {
		return cli.UsageErrorf("--phase-timeout=%s: must be positive", o.phaseTimeout)
	}
	known := lab.Phases()
	for _, phase := range o.phases {
		if !slices.Contains(known, phase) {
			return cli.UsageErrorf("--phases=%s: use %s", phase, strings.Join(known, ", "))
		}
	}
	return nil
}

func benchmark(ctx context.Context, o benchOptions, s streams) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if o.cloudConfig != "" {
		content, err := os.ReadFile(o.cloudConfig)
		if err != nil {
			return cli.UsageErrorf("--cloud-config=%s cannot be read: %v", o.cloudConfig, err)
		}
		o.manager.CloudConfig = string(content)
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
	options := bench.Options{
		Provider: o.provider, Failing: o.failing, Dir: dir.path, Step: p.step, Notify: p.notify,
		Nodes: o.nodes, Services: o.services, Latency: o.latency,
		Annotations: o.annotations, Manager: o.manager, ServicesAt: o.servicesAt,
		Phases: o.phases, PhaseTimeout: o.phaseTimeout,
	}
	switch {
	case o.failing != "":
		return o.measureFailing(ctx, binaries, options, s)
	case len(o.providers()) > 1:
		return o.measureClouds(ctx, binaries, options, s)
	}
	return o.measure(ctx, binaries, options, s)
}

func (o benchOptions) measure(ctx context.Context, b lab.Binaries, options bench.Options, s streams) error {
	result, err := bench.Run(ctx, b, options)
	// Also prints phases that were measured before an error or an interrupt.
	if len(result.Phases) > 0 {
		err = errors.Join(err, printReport(result, o, s))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The targets are those of ccm: another manager's result is shown beside them and does not fail.
	if missed := result.Missed(); len(missed) > 0 && o.manager.Binary == "" {
		err = errors.Join(err, fmt.Errorf("more calls than the target allows: %s", strings.Join(missed, "; ")))
	}
	return err
}

func (o benchOptions) measureClouds(ctx context.Context, b lab.Binaries, options bench.Options, s streams) error {
	result, err := bench.RunClouds(ctx, b, options)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	return printReport(result, o, s)
}

func (o benchOptions) measureFailing(ctx context.Context, b lab.Binaries, options bench.Options, s streams) error {
	result, err := bench.RunFailing(ctx, b, options)
	// What was measured before an error or an interrupt is printed, too.
	if len(result.Conditions) > 0 {
		err = errors.Join(err, printReport(result, o, s))
	}
	return cmp.Or(ctx.Err(), err)
}

// benchReport is the result of a benchmark.
type benchReport interface {
	WriteJSON(w io.Writer) error
	WriteTable(w io.Writer) error
}

func printReport(r benchReport, o benchOptions, s streams) error {
	var err error
	if o.jsonFile != "" {
		file, createErr := os.Create(o.jsonFile)
		if createErr != nil {
			return fmt.Errorf("--json-file=%s: %w", o.jsonFile, createErr)
		}
		err = errors.Join(r.WriteJSON(file), file.Close())
	}
	if o.output == outputJSON {
		return errors.Join(err, r.WriteJSON(s.out))
	}
	fmt.Fprintln(s.err)
	return errors.Join(err, r.WriteTable(s.out))
}
