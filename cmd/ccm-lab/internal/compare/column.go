package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	// poll is the interval at which conditions are checked.
	poll = 100 * time.Millisecond
	// quietPeriod is the time without a mutation in the cloud after which it counts as settled.
	quietPeriod = 500 * time.Millisecond
	// startPeriod is the time without any call after which the reads at the start of a manager are complete, also on a
	// busy machine. Later ones would count as calls of the scenario.
	startPeriod = 2 * time.Second
	// startTimeout is the timeout for that: a manager may read routes as often as it compares them.
	startTimeout = 15 * time.Second
	// cleanTimeout is the timeout for the deletion of a scenario's objects.
	cleanTimeout = 2 * time.Minute
)

// Columns returns the columns of a cloud: one for each kind of load balancers.
func Columns(name, servicesAt string) []Column {
	d, _ := provider.Get(name) // Every cloud of the lab is linked.
	kinds := lab.Balancers(name)
	out := make([]Column, 0, len(kinds))
	for _, kind := range kinds {
		c := Column{Name: name, Title: d.Title, Provider: name, Kind: kind, ServicesAt: servicesAt, Descriptor: &d}
		if kind.Name != "" {
			c.Name, c.Title = name+"-"+kind.Name, d.Title+", "+kind.Name+" load balancer"
		}
		out = append(out, c)
	}
	return out
}

// MixedColumn returns the column of a cloud in a cluster that has nodes of another cloud too. It should show what the
// cloud's own column shows.
func MixedColumn(name, other string) Column {
	c := Columns(name, "")[0]
	d, _ := provider.Get(other)
	c.Name, c.Title, c.Others = name+"-with-"+other, c.Title+", in one cluster with "+d.Title, []string{other}
	return c
}

// hasOperations reports whether the column has costs of operations. The benchmark of several clouds measures those of a
// mixed cluster.
func (c *Column) hasOperations() bool { return len(c.Others) == 0 }

// ManagerColumns returns the columns of another manager on a cloud: one for each kind of load balancers.
func ManagerColumns(name, provider, servicesAt string, manager bench.Manager) []Column {
	kinds := lab.Balancers(provider)
	out := make([]Column, 0, len(kinds))
	for _, kind := range kinds {
		c := Column{Name: strings.Join(strings.Fields(name), "-"), Title: name, Provider: provider, Kind: kind,
			ServicesAt: servicesAt, Manager: manager}
		if kind.Name != "" {
			c.Name, c.Title = c.Name+"-"+kind.Name, name+", "+kind.Name+" load balancer"
		}
		out = append(out, c)
	}
	return out
}

func (c *Column) describe() report.Column {
	out := report.Column{Name: c.Name, Title: c.Title, Provider: c.Provider, Kind: c.Kind.Name,
		Others: strings.Join(c.Others, ","), Program: "ccm",
		Cloud: "simulator"}
	if c.Manager.Binary != "" {
		out.Program = filepath.Base(c.Manager.Binary)
	}
	if c.ServicesAt != "" {
		out.Cloud = "services"
	}
	return out
}

// sharedNodes is the number of nodes that every scenario finds.
const sharedNodes = 2

// readyTimeout is the timeout for the first nodes to be initialised.
const readyTimeout = 30 * time.Second

// servicesFactor is the factor by which real services are slower than a simulator.
const servicesFactor = 10

// scaled returns a duration for a simulator as one for the column's cloud.
func (c *Column) scaled(d time.Duration) time.Duration {
	if c.ServicesAt != "" {
		return servicesFactor * d
	}
	return d
}

func startColumn(ctx context.Context, o Options, column *Column) (_ *run, err error) {
	dir := filepath.Join(o.Dir, column.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	binaries, args := o.Binaries, bench.ManagerArgs()
	if column.Manager.Binary != "" {
		binaries.CCM = column.Manager.Binary
	} else {
		args = append(args, bench.OwnArgs()...)
	}
	cluster, err := lab.StartCluster(ctx, binaries, lab.ClusterOptions{
		Provider: strings.Join(append([]string{column.Provider}, column.Others...), ","),
		Dir:      dir, Listen: column.Manager.Listen,
		Cloud:       lab.SimulatorOptions{Services: column.ServicesAt, IPv6: true},
		ManagerArgs: slices.Concat(args, column.Manager.Args), CloudConfig: column.Manager.Config,
	})
	if err != nil {
		return nil, err
	}
	r := &run{Column: column, cluster: cluster, live: &lab.Live{
		Client: cluster.Plane.Client, World: cluster.Cloud.World, Options: cluster.ManagerOptions,
	}}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *run) stop(ctx context.Context) error { return r.cluster.Stop(ctx) }

// prepare joins the nodes that all scenarios share, and waits until the manager has initialised them.
func (r *run) prepare(ctx context.Context) error {
	version, err := r.cluster.Plane.Client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the version of the API server: %w", err)
	}
	r.kubernetes = version.GitVersion
	if r.fixtures, err = newFixtures(r.cluster.Cloud.World); err != nil {
		return err
	}
	for i := range sharedNodes {
		node, err := r.cluster.Cloud.World.Launch(lab.DemoMachine(i + 1))
		if err != nil {
			return err
		}
		if err := lab.RegisterNode(ctx, r.cluster.Plane.Client, node); err != nil {
			return err
		}
		r.nodes = append(r.nodes, node.Name)
	}
	slices.Sort(r.nodes)
	for i, cloud := range r.cluster.Clouds[1:] {
		machine := lab.DemoMachine(lab.MaxNodes - i)
		if err := lab.JoinNode(ctx, r.cluster.Plane.Client, cloud.World, machine); err != nil {
			return err
		}
	}
	waitCtx, cancel := context.WithTimeout(ctx, r.scaled(readyTimeout))
	defer cancel()
	// A manager without instances initialises no node: the scenarios show that.
	_ = wait.PollUntilContextCancel(waitCtx, poll, true, func(ctx context.Context) (bool, error) {
		return r.initialised(ctx), nil
	})
	return ctx.Err()
}

// initialised reports whether all shared nodes are initialised, or the manager has no instances.
func (r *run) initialised(ctx context.Context) bool {
	nodes, err := r.cluster.Plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	return err == nil && !slices.ContainsFunc(nodes.Items, func(n v1.Node) bool { return !lab.IsInitialised(n) }) ||
		r.unsupported(withoutInstances) != ""
}

// Log lines of the framework about an interface that a manager does not have.
const (
	withoutBalancers = "does not support external load balancers"
	withoutInstances = "does not support instances"
	withoutRoutes    = "does not support routes"
)

// unsupported returns the manager's log line about a missing interface, or "".
func (r *run) unsupported(text string) string {
	content, err := os.ReadFile(r.cluster.ManagerOptions.Log)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, text) {
			return logMessage(line)
		}
	}
	return ""
}

// logMessage returns the message of a log line: without the header, and without the keys and values after a message in
// quotes.
func logMessage(line string) string {
	_, message, _ := strings.Cut(line, "] ")
	if quoted, err := strconv.QuotedPrefix(message); err == nil {
		if text, err := strconv.Unquote(quoted); err == nil {
			return text
		}
	}
	return strings.TrimSpace(message)
}

// inventory lists the objects in the cloud.
func (r *run) inventory() []world.Object {
	if cloud, ok := r.cluster.Cloud.World.(world.Inventory); ok {
		return cloud.Inventory()
	}
	return nil
}

// restartFor restarts the manager, with the route controller if the scenario needs it.
func (r *run) restartFor(ctx context.Context, s Scenario) error {
	r.scenario = s
	if err := r.restartManager(ctx); err != nil || !s.Routes {
		return err
	}
	// The routes of the shared nodes belong to no scenario.
	waitCtx, cancel := context.WithTimeout(ctx, r.scaled(readyTimeout))
	defer cancel()
	_ = wait.PollUntilContextCancel(waitCtx, poll, true, func(context.Context) (bool, error) {
		return len(r.cluster.Cloud.World.Routes()) >= len(r.nodes) || r.unsupported(withoutRoutes) != "", nil
	})
	return ctx.Err()
}

// restartManager replaces the manager by a new one with empty caches.
func (r *run) restartManager(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	return r.cluster.StartManager(ctx, r.scenarioArgs()...)
}

// scenarioArgs are the arguments of the manager that the scenario needs.
func (r *run) scenarioArgs() []string {
	args := r.ownArgs()
	if r.scenario.Routes {
		clouds := "true"
		if len(r.Others) > 0 {
			clouds = r.Provider // with several, each is named
		}
		args = append(args, "--configure-cloud-routes="+clouds, "--cluster-cidr="+lab.PodRange,
			"--route-reconciliation-period=2s")
	}
	return args
}

// ownArgs are the arguments that the scenario needs and only ccm has.
func (r *run) ownArgs() []string {
	if r.Manager.Binary != "" {
		return nil
	}
	return slices.Clone(r.scenario.Args)
}
