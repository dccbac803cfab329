package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

const runLong = `Run a whole cluster on this machine: etcd, kube-apiserver, the real ccm process
and a simulated cloud over HTTP. Demo nodes join as they would with a kubelet,
and demo Services of type LoadBalancer are created: web (public), internal,
restricted (source ranges) and dns (UDP), then more of the same.

The simulated fake cloud forwards traffic: curl reaches echo servers in place of
the pods through each load balancer, on loopback addresses of this machine. Everything
else is as in a real cluster: run the printed export KUBECONFIG line, then use
kubectl, and watch what happens in the cloud.

On a terminal the state is shown live until Ctrl-C, which removes everything.`

const runExample = `  ccm-lab run
  ccm-lab run --nodes=10 --services=12
  ccm-lab run --once                       # for scripts: final tables, exit code 0 or 1
  ccm-lab run --kubeconfig-out=lab.yaml    # then: kubectl --kubeconfig=lab.yaml get svc -A`

func newRunCommand(ctx context.Context, s streams) *cobra.Command {
	o := runOptions{provider: fake.ProviderName, nodes: 3, services: 4, timeout: 2 * time.Minute}
	cmd := &cobra.Command{
		Use: "run [flags]", Short: "Run a whole cluster with a simulated cloud, shown live",
		Long: runLong, Example: runExample, Args: cli.NoArgs, DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error { return run(ctx, o, s) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.provider, "provider", o.provider, "The cloud to simulate: "+strings.Join(lab.Providers(), ", ")+
		". With commas several, in one cluster.")
	fs.IntVar(&o.nodes, "nodes", o.nodes, "Number of demo nodes that join.")
	fs.IntVar(&o.services, "services", o.services, "Number of demo Services to create.")
	fs.BoolVar(&o.once, "once", o.once, "Exit when everything is ready, with the final tables and code 0; "+
		"or at the timeout, with a list of what is missing and code 1.")
	fs.DurationVar(&o.timeout, "timeout", o.timeout, "With --once: the timeout, which starts when the nodes join.")
	fs.StringVar(&o.kubeconfigOut, "kubeconfig-out", "",
		"Also write the kubeconfig to this file, which must not exist; it is removed at the end.")
	fs.StringVar(&o.traces, "traces", "", "Write the OpenTelemetry spans of ccm to this file, from each sync down to "+
		"each call of the cloud: one line of OTLP in JSON for each export.")
	fs.BoolVar(&o.keep, "keep", o.keep, "Keep the directory with logs, etcd's data and the state of the cloud at the "+
		"end, and print its path.")
	return cmd
}

// maxServices limits the demo to the addresses of the cloud and the rows of the screen.
const maxServices = 200

func (o runOptions) validate() error {
	var timeout, kubeconfig error
	if o.timeout <= 0 {
		timeout = cli.UsageErrorf("--timeout=%s: use a positive duration such as 2m", o.timeout)
	}
	if o.kubeconfigOut != "" {
		if _, err := os.Lstat(o.kubeconfigOut); err == nil {
			kubeconfig = kubeconfigExists(o.kubeconfigOut)
		}
	}
	return cli.UsageErrors(
		checkProviders(o.providers()),
		checkRange("nodes", o.nodes, 1, lab.MaxNodes),
		checkRange("services", o.services, 0, maxServices),
		timeout, kubeconfig,
	)
}

func (o runOptions) providers() []string { return strings.Split(o.provider, ",") }

// balancers returns the clouds that have load balancers.
func (o runOptions) balancers() []string {
	return slices.DeleteFunc(o.providers(), func(name string) bool { return !lab.Capabilities(name).LoadBalancer })
}

// supported returns what the demo waits for: only nodes on a cloud without load balancers and routes.
func (o runOptions) supported() screen.Want {
	want := screen.Want{Nodes: o.nodes}
	if len(o.balancers()) > 0 {
		want.Services = o.services
	}
	if len(o.providers()) == 1 && lab.Capabilities(o.provider).Routes {
		want.Routes = o.nodes
	}
	return want
}

func run(ctx context.Context, o runOptions, s streams) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	binaries, err := lab.FindBinaries()
	if err != nil {
		return err
	}
	want := o.supported()
	o.services = want.Services
	p := newProgress(s.err)
	dir, err := makeDirectory(o.keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close(p)) }()
	started := time.Now()
	// Loopback addresses other than 127.0.0.1 are available on Linux only.
	proxy := runtime.GOOS == "linux" && lab.Forwards(o.provider)
	simulator := lab.SimulatorOptions{Proxy: proxy}
	if o.keep {
		simulator.StateFile = dir.file("cloud.json")
	}
	args := []string{"--cluster-cidr=" + lab.PodRange, "--configure-cloud-routes=true"}
	if o.traces != "" {
		traces, traceErr := lab.StartTraces(o.traces, dir.path)
		if traceErr != nil {
			return cli.UsageErrorf("--traces=%s: %v", o.traces, traceErr)
		}
		// The cluster is stopped first: ccm sends its last spans then.
		defer func() { err = errors.Join(err, closeTraces(traces, o.traces, s.err)) }()
		args = append(args, traces.Arg())
	}
	cluster, err := lab.StartCluster(ctx, binaries, lab.ClusterOptions{
		Provider: o.provider, Dir: dir.path, Cloud: simulator, Step: p.step,
		ManagerArgs: args,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopCluster(context.WithoutCancel(ctx), p, cluster)) }()

	view := &view{
		options: o, streams: s, progress: p, cluster: cluster, kubeconfig: cluster.Plane.Kubeconfig,
		observer: &lab.Observer{
			Cluster: cluster, Provider: o.provider, Started: started,
			Want: want,
		},
	}
	if proxy {
		view.observer.EchoServers = lab.NewEchoServers()
		defer func() { err = errors.Join(err, view.observer.EchoServers.Close()) }()
	}
	if o.kubeconfigOut != "" {
		remove, err := writeKubeconfig(cluster.Plane.Kubeconfig, o.kubeconfigOut)
		if err != nil {
			return err
		}
		defer func() { _ = remove() }() // The user may have removed it already.
		view.kubeconfig = o.kubeconfigOut
	}
	if err := p.step(ctx, "joining "+screen.Plural(o.nodes, "node"), view.join); err != nil {
		return err
	}
	if err := p.step(ctx, "creating "+screen.Plural(o.services, "Service"), view.createServices); err != nil {
		return err
	}
	if o.once {
		return view.once(ctx)
	}
	return view.live(ctx)
}

// createServices creates the demo Services. Their echo servers listen before the first health check: a member
// that fails it is only checked again after an interval.
func (v *view) createServices(ctx context.Context) error {
	client := v.cluster.Plane.Client
	if err := lab.CreateNamespace(ctx, client); err != nil {
		return err
	}
	services := lab.DemoServices(v.options.balancers(), v.options.services)
	for i, svc := range services {
		svc.Spec.Ports[0].NodePort = int32(firstNodePort + i)
	}
	if err := v.observer.Expect(ctx, services); err != nil {
		return err
	}
	for _, svc := range services {
		if err := lab.CreateService(ctx, client, svc); err != nil {
			return err
		}
	}
	return nil
}

func stopCluster(ctx context.Context, p *progress, cluster *lab.Cluster) error {
	return p.step(ctx, "stopping everything", cluster.Stop)
}

func closeTraces(traces *lab.Traces, file string, w io.Writer) error {
	spans, err := traces.Close()
	fmt.Fprintf(w, "%s has %s\n", file, screen.Plural(spans, "span"))
	return err
}
