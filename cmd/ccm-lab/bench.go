package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

const benchLong = `Measure what ccm costs: calls to the cloud, seconds, CPU time and memory, with a
real API server, the real ccm process and a simulated cloud that takes some
time for each call.

The phases, one after the other on one cluster:
  nodes joining      machines are launched and register, until all are initialised
  nodes refreshed    one pass of --node-status-update-frequency over all nodes
  Services created   until every one has the address of its load balancer
  1 node added       until it is initialised and a member of every load balancer
  restart            a new ccm with an empty memory, until every Service is ensured
  delete all         Services, until no load balancer is left, then the nodes

Pod routes are off, because one for each node would hide everything else, and
so is leader election. Seconds include the API server's share; CPU and memory
are of the ccm process alone, memory being its peak since it was started.`

const benchExample = `  ccm-lab bench
  ccm-lab bench --nodes=100 --services=20
  ccm-lab bench -o json > bench.json`

type benchOptions struct {
	provider, output, jsonFile string
	nodes, services            int
	latency                    time.Duration
	keep                       bool
}

const (
	outputTable = "table"
	outputJSON  = "json"
	maxBench    = 5000
)

func newBenchCommand(ctx context.Context, s streams) *cobra.Command {
	o := benchOptions{provider: fake.ProviderName, output: outputTable, nodes: 1000, services: 200, latency: 20 * time.Millisecond}
	cmd := &cobra.Command{
		Use: "bench [flags]", Short: "Measure calls, seconds, CPU and memory",
		Long: benchLong, Example: benchExample, Args: noSuchCommand, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return benchmark(ctx, o, s) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.provider, "provider", o.provider, "The cloud to simulate: "+strings.Join(lab.Providers(), ", ")+".")
	fs.IntVar(&o.nodes, "nodes", o.nodes, "How many nodes join.")
	fs.IntVar(&o.services, "services", o.services, "How many Services are made.")
	fs.DurationVar(&o.latency, "latency", o.latency, "How long the cloud takes for each call.")
	fs.StringVarP(&o.output, "output", "o", o.output, "How to print: table for people, json for machines.")
	fs.StringVar(&o.jsonFile, "json-file", "", "Also write the JSON to this file.")
	fs.BoolVar(&o.keep, "keep", o.keep, "Keep the directory with logs and etcd's data, and say where it is.")
	return cmd
}

func (o benchOptions) validate() error {
	var output, latency error
	if o.output != outputTable && o.output != outputJSON {
		output = usageErrorf("--output=%s: use table or json", o.output)
	}
	if o.latency < 0 {
		latency = usageErrorf("--latency=%s: it must not be negative", o.latency)
	}
	return usageErrors(
		checkProvider("--provider="+o.provider, o.provider),
		checkRange("nodes", o.nodes, 1, maxBench),
		checkRange("services", o.services, 1, maxBench),
		latency, output,
	)
}

func benchmark(ctx context.Context, o benchOptions, s streams) (err error) {
	if err := o.validate(); err != nil {
		return err
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
	result, err := bench.Run(ctx, binaries, bench.Options{
		Provider: o.provider, Dir: dir.path, Step: p.step, Nodes: o.nodes, Services: o.services, Latency: o.latency,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// What was measured before an error is worth seeing too.
	if len(result.Phases) > 0 {
		err = errors.Join(err, printReport(result, o, s))
	}
	return err
}

func printReport(r bench.Report, o benchOptions, s streams) error {
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
