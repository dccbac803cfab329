package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

const simLong = `Serve a simulated cloud over HTTP until Ctrl-C, for a ccm or another program.
It prints a cloud.conf with its address on standard output, and everything else
on standard error.`

const simExample = `  ccm-lab sim fake --listen=127.0.0.1:8099 > cloud.conf
  ccm --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=... --cluster-cidr=10.244.0.0/16

  # With three instances, node-1 to node-3, slow load balancers, and one call in a hundred failing
  ccm-lab sim fake --instances=3 --provision-time=20s --error-rate=0.01 --seed=7`

type simOptions struct {
	listen    string
	instances int
	cloud     lab.SimulatorOptions
}

func newSimCommand(ctx context.Context, s streams) *cobra.Command {
	o := simOptions{listen: "127.0.0.1:0"}
	cmd := &cobra.Command{
		Use: "sim NAME [flags]", Short: "Serve a simulated cloud over HTTP",
		Long: simLong + "\n\nThe clouds: " + strings.Join(lab.Providers(),
			", ") + ".", Example: simExample, DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageErrorf("name one cloud to simulate, such as ccm-lab sim %s", lab.Providers()[0])
			}
			return checkProvider("sim "+args[0], args[0])
		},
		RunE: func(_ *cobra.Command, args []string) error { return simulate(ctx, args[0], o, s) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.listen, "listen", o.listen, "The address and the port to listen at; port 0 uses a free one.")
	fs.IntVar(&o.instances, "instances", 0, "Number of instances to launch, named node-1 and so on, unless they exist.")
	fs.StringVar(&o.cloud.StateFile, "state-file", "",
		"Keep the cloud's state in this file; without one it is lost at the end.")
	fs.DurationVar(&o.cloud.ProvisionTime, "provision-time", 0, "Provisioning time of a new load balancer.")
	fs.DurationVar(&o.cloud.Latency, "latency", 0, "Latency of each call.")
	fs.Float64Var(&o.cloud.ErrorRate, "error-rate", 0, "The share of calls that fail, from 0 to 1.")
	fs.Int64Var(&o.cloud.Seed, "seed", 0, "Seed of the injected errors; the same seed makes the same calls fail.")
	fs.StringVar(&o.cloud.Token, "token", "", "The token that every call must carry; without one all calls are accepted.")
	fs.BoolVar(&o.cloud.Proxy, "proxy", false, "Forward traffic between loopback addresses (Linux).")
	return cmd
}

// maxInstances is the quota of the simulated clouds.
const maxInstances = 10_000

func simulate(ctx context.Context, name string, o simOptions, s streams) (err error) {
	if err := checkRange("instances", o.instances, 0, maxInstances); err != nil {
		return err
	}
	cloud, err := lab.StartCloud(ctx, name, o.listen, o.cloud)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cloud.Close()) }()
	for i := range o.instances {
		machine := lab.DemoMachine(i + 1)
		if _, err := cloud.World.Machine(machine.Name); err == nil {
			continue // It is in the state file.
		}
		if _, err := cloud.World.Launch(machine); err != nil {
			return err
		}
	}
	started := time.Now()
	fmt.Fprint(s.out, cloud.Config)
	fmt.Fprintf(s.err, "cloud %s answers at %s; its cloud.conf is on standard output; Ctrl-C ends it\n", name,
		cloud.Endpoint)
	<-ctx.Done()
	log := cloud.World.Front().Log()
	fmt.Fprintf(s.err, "ended after %s and %d calls\n", time.Since(started).Round(time.Second), log.Len())
	if log.Len() == 0 {
		return nil
	}
	return log.WriteTable(s.err)
}
