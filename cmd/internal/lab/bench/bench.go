package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/unified-ccm/unified-ccm/cmd/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Options of a benchmark.
type Options struct {
	// Provider, Dir and Step are those of lab.ClusterOptions.
	Provider, Dir string
	Step          func(ctx context.Context, what string, do func(context.Context) error) error
	// Nodes and Services are how many; Latency is how long the cloud takes for each call.
	Nodes, Services int
	Latency         time.Duration
}

const (
	// clients is how many kubelets or users are busy at once.
	clients = 32
	// poll is how often the state is looked at. It is not what seconds are rounded to: where
	// calls end a phase, their own times count.
	poll = 200 * time.Millisecond
	// calm is how long no call may reach the cloud before a phase ends whose end nothing else shows.
	calm = 5 * time.Second
	// patience is how long a phase may last.
	patience = 10 * time.Minute
	// refreshEvery is the --node-status-update-frequency under which the refresh is measured. Its
	// default is 5m; like that one it is longer than what a refresh may take from memory, so that
	// it has to ask the cloud.
	refreshEvery = instances.DefaultSnapshotAge + 15*time.Second
)

// ManagerArgs are ccm's arguments in a benchmark. Pod routes are left out, because one route for
// each node would hide everything else. -v=2 makes the framework log how long a refresh took.
func ManagerArgs() []string { return []string{"--configure-cloud-routes=false", "-v=2"} }

// Run measures all phases, one after the other, on one cluster.
func Run(ctx context.Context, b lab.Binaries, o Options) (_ Report, err error) {
	cluster, err := lab.StartCluster(ctx, b, lab.ClusterOptions{
		Provider: o.Provider, Dir: o.Dir, Step: o.Step, Cloud: lab.SimulatorOptions{Latency: o.Latency}, ManagerArgs: ManagerArgs(),
	})
	if err != nil {
		return Report{}, err
	}
	defer func() {
		err = errors.Join(err, o.Step(context.WithoutCancel(ctx), "stopping everything", cluster.Stop))
	}()
	r := &runner{Options: o, cluster: cluster}
	// The API server waits for watches when it is stopped, so they end before.
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	r.watch, err = startWatch(watching, cluster.Plane.Client)
	if err != nil {
		return Report{}, err
	}
	if err := lab.CreateNamespace(ctx, cluster.Plane.Client); err != nil {
		return Report{}, err
	}
	report := Report{
		Provider: o.Provider, Nodes: o.Nodes, Services: o.Services,
		LatencyMilliseconds: o.Latency.Milliseconds(), CPUs: runtime.NumCPU(),
	}
	for _, p := range r.phases() {
		err := o.Step(ctx, p.name, func(ctx context.Context) error {
			if p.prepare != nil {
				if err := p.prepare(ctx); err != nil {
					return err
				}
			}
			measured, err := r.measure(ctx, p)
			report.Phases = append(report.Phases, measured)
			return err
		})
		if err != nil {
			return report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return report, nil
}

// runner measures phases on a cluster.
type runner struct {
	Options
	cluster *lab.Cluster
	watch   *watch
}

// phase is one thing to measure.
type phase struct {
	name string
	// prepare is not measured.
	prepare func(ctx context.Context) error
	// do is, and returns when everything is done. Where it returns a duration, that is how long
	// it took; zero is until do returned, or until the last call where lastCall is set.
	do func(ctx context.Context) (time.Duration, error)
	// lastCall ends the time at the last call to the cloud.
	lastCall bool
}

func (r *runner) phases() []phase {
	return []phase{
		{name: count(r.Nodes, "node") + " joining", do: r.join},
		{name: count(r.Nodes, "node") + " refreshed", prepare: r.restartForRefresh, do: r.refresh},
		{name: count(r.Services, "Service") + " created", prepare: r.restart, do: r.createServices},
		{name: "1 node added", prepare: r.untilCalm, do: r.addNode, lastCall: true},
		{name: "restart", prepare: r.stop, do: r.start},
		{name: "delete all", do: r.deleteAll, lastCall: true},
	}
}

func (r *runner) measure(ctx context.Context, p phase) (Phase, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log := r.cluster.Cloud.World.Front().Log()
	log.Reset()
	manager := r.cluster.Manager()
	before, err := manager.Usage()
	if err != nil {
		before = lab.Usage{} // The process of the last phase has ended: the next one starts at zero.
	}
	started := time.Now()
	took, err := p.do(ctx)
	if err == nil && took == 0 {
		took = time.Since(started)
		if last := r.lastCall(started); p.lastCall && last > 0 {
			took = last
		}
	}
	if err != nil {
		return Phase{}, r.explain(err)
	}
	after, err := r.cluster.Manager().Usage()
	if err != nil {
		return Phase{}, r.explain(err)
	}
	if r.cluster.Manager() != manager {
		before = lab.Usage{}
	}
	out := Phase{
		Name: p.name, Seconds: seconds(took),
		CPUSeconds: seconds(after.CPU - before.CPU), PeakMemoryBytes: after.PeakMemory,
	}
	for _, s := range log.Stats() {
		out.Failed += s.Failed + s.NoAnswer
		if s.Mutating {
			out.Mutations += s.Calls
		} else {
			out.Reads += s.Calls
		}
	}
	return out, nil
}

// explain adds what ccm has to say about a phase that failed.
func (r *runner) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if ended := r.cluster.Ended(); ended != "" {
		return fmt.Errorf("%w: %s", err, ended)
	}
	return fmt.Errorf("%w; the log of ccm ends: %s", err, lab.Tail(r.cluster.ManagerOptions.Log, 1))
}

// until waits for a condition.
func (r *runner) until(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("not reached within %s: %s", patience, what)
		case <-r.cluster.Manager().Done():
			return errors.New("ccm is gone")
		case <-tick.C:
		}
	}
	return nil
}

// untilCalm waits until no call has reached the cloud for a while.
func (r *runner) untilCalm(ctx context.Context) error {
	log := r.cluster.Cloud.World.Front().Log()
	calls, since := log.Len(), time.Now()
	return r.until(ctx, "a cloud without calls", func() bool {
		if n := log.Len(); n != calls {
			calls, since = n, time.Now()
		}
		return time.Since(since) >= calm
	})
}

// each calls do for the numbers from 1 to n, some side by side.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	workqueue.ParallelizeUntil(ctx, clients, n, func(i int) { errs[i] = do(ctx, i+1) })
	return errors.Join(errors.Join(errs...), ctx.Err())
}

func (r *runner) join(ctx context.Context) (time.Duration, error) {
	err := each(ctx, r.Nodes, func(ctx context.Context, i int) error {
		return lab.JoinNode(ctx, r.cluster.Plane.Client, r.cluster.Cloud.World, lab.DemoMachine(i))
	})
	if err != nil {
		return 0, err
	}
	return 0, r.until(ctx, "all nodes initialised", func() bool { return r.watch.initialised() == r.Nodes })
}

func (r *runner) createServices(ctx context.Context) (time.Duration, error) {
	services := lab.DemoServices(r.Services)
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return lab.CreateService(ctx, r.cluster.Plane.Client, services[i-1])
	})
	if err != nil {
		return 0, err
	}
	return 0, r.until(ctx, "an address for every Service", func() bool { return r.watch.addressed() == r.Services })
}

func (r *runner) addNode(ctx context.Context) (time.Duration, error) {
	added := lab.DemoMachine(r.Nodes + 1)
	if err := lab.JoinNode(ctx, r.cluster.Plane.Client, r.cluster.Cloud.World, added); err != nil {
		return 0, err
	}
	return 0, r.until(ctx, "the new node being a member everywhere", func() bool {
		if r.watch.initialised() != r.Nodes+1 {
			return false
		}
		for _, lb := range r.cluster.Cloud.World.LoadBalancers() {
			for _, l := range lb.Listeners {
				if _, found := slices.BinarySearch(l.Members, added.Name); !found {
					return false
				}
			}
		}
		return true
	})
}

func (r *runner) stop(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	return ctx.Err()
}

// start ends when every Service has been ensured again and the cloud is left alone.
func (r *runner) start(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	r.watch.forgetEnsured()
	if err := r.cluster.StartManager(ctx); err != nil {
		return 0, err
	}
	err := r.until(ctx, "every Service ensured again", func() bool { return r.watch.ensured() >= r.Services })
	if err != nil {
		return 0, err
	}
	// What needs no change makes no call, so that the last call alone does not tell the end.
	ensured := time.Since(started)
	if err := r.untilCalm(ctx); err != nil {
		return 0, err
	}
	return max(ensured, r.lastCall(started)), nil
}

// lastCall is when the last call to the cloud ended, since the start of a phase.
func (r *runner) lastCall(started time.Time) time.Duration {
	calls := r.cluster.Cloud.World.Front().Log().Calls()
	if len(calls) == 0 {
		return 0
	}
	last := calls[len(calls)-1]
	return last.At.Add(last.Duration).Sub(started)
}

func (r *runner) restart(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	if err := r.cluster.StartManager(ctx); err != nil {
		return err
	}
	return r.untilCalm(ctx)
}

// restartForRefresh starts ccm with a refresh that comes soon, and waits for the one that every
// start begins with.
func (r *runner) restartForRefresh(ctx context.Context) error {
	log, err := follow(r.cluster.ManagerOptions.Log)
	if err != nil {
		return err
	}
	r.cluster.StopManager(ctx)
	if err := r.cluster.StartManager(ctx, "--node-status-update-frequency="+refreshEvery.String()); err != nil {
		return err
	}
	_, err = r.refreshed(ctx, log)
	return err
}

// refresh ends with the next refresh of all nodes, and lasts as long as the framework says that one took.
func (r *runner) refresh(ctx context.Context) (time.Duration, error) {
	log, err := follow(r.cluster.ManagerOptions.Log)
	if err != nil {
		return 0, err
	}
	return r.refreshed(ctx, log)
}

func (r *runner) refreshed(ctx context.Context, log *follower) (took time.Duration, err error) {
	var readErr error
	err = r.until(ctx, "a refresh of all nodes", func() bool {
		var lines []string
		lines, readErr = log.lines()
		for _, line := range lines {
			if nodes, d, ok := parseRefresh(line); ok && nodes >= r.Nodes {
				took = d
			}
		}
		return took > 0 || readErr != nil
	})
	return took, errors.Join(err, readErr)
}

func (r *runner) deleteAll(ctx context.Context) (time.Duration, error) {
	client := r.cluster.Plane.Client.CoreV1()
	services := lab.DemoServices(r.Services)
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return client.Services(lab.DemoNamespace).Delete(ctx, services[i-1].Name, metav1.DeleteOptions{})
	})
	if err != nil {
		return 0, err
	}
	if err := r.until(ctx, "no Service left", func() bool { return r.watch.services() == 0 }); err != nil {
		return 0, err
	}
	if left := r.cluster.Cloud.World.LoadBalancers(); len(left) > 0 {
		return 0, fmt.Errorf("the Services are gone, but %s left, the first is %s", count(len(left), "load balancer"), left[0].Name)
	}
	err = each(ctx, r.Nodes+1, func(ctx context.Context, i int) error {
		return client.Nodes().Delete(ctx, lab.DemoMachine(i).Name, metav1.DeleteOptions{})
	})
	return 0, err
}
