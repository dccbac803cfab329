package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// Options configure a benchmark.
type Options struct {
	// Provider, Dir and Step are those of lab.ClusterOptions. With several clouds, the phases are those of CloudsPhases.
	Provider, Dir string
	// Failing is the cloud of RunFailing that fails.
	Failing string
	Step    func(ctx context.Context, name string, do func(context.Context) error) error
	// Notify prints what a stalled phase waits for; nil prints nothing.
	Notify func(message string)
	// Nodes and Services are their numbers in each cloud; Latency is the duration of each call to the cloud.
	Nodes, Services int
	Latency         time.Duration
	// Neighbors is the number of foreign nodes that register beside each node.
	Neighbors int
	// Annotations are put on every Service, beside those that the provider's benchmark needs.
	Annotations map[string]string
	// ServicesAt is lab.SimulatorOptions.Services.
	ServicesAt string
	// Manager is the process to measure: ccm or another cloud controller manager.
	Manager Manager
	// Balancers is the kind of load balancers; nil is the one that the lab shows.
	Balancers *lab.BalancerKind
	// Phases selects phases by lab's names; empty runs all.
	Phases []string
	// PhaseTimeout is the maximum duration of a phase; 0 is DefaultPhaseTimeout.
	PhaseTimeout time.Duration
	// Again also measures, after each phase but restarts, what the result costs a manager that has just started, and at
	// the end what is left after one was killed.
	Again bool
}

// Manager identifies a cloud controller manager's binary. The zero value is this repository's ccm.
type Manager struct {
	// Binary is its path.
	Binary string
	// CloudConfig is the content of its configuration file, in which EndpointVariable stands for the simulated
	// cloud's address; empty for the one that the simulator generates for ccm.
	CloudConfig string
	// Listen is the address of the simulated cloud; empty for a free port. Managers that read the cloud's
	// address from their environment need it.
	Listen string
	// Args are additional arguments.
	Args []string
}

// Config returns the content of the configuration file, given the cloud's URL and the simulator's cloud.conf.
func (m Manager) Config(endpoint, generated string) string {
	if m.CloudConfig == "" {
		return generated
	}
	return strings.NewReplacer(EndpointVariable, endpoint, ConfigVariable, generated).Replace(m.CloudConfig)
}

// In Manager.CloudConfig, EndpointVariable stands for the cloud's URL, and ConfigVariable for the complete
// configuration of ccm: the IDs of objects in a project of real services are not known beforehand.
const (
	EndpointVariable = "${ENDPOINT}"
	ConfigVariable   = "${CLOUD_CONFIG}"
)

const (
	// clients is the number of concurrent kubelets or users.
	clients = 32
	// poll is the interval between two reads of the state. Seconds are not rounded to it: for phases that end
	// with their last call, the calls' own times count.
	poll = 200 * time.Millisecond
	// quietPeriod is the time without a call to the cloud that ends phases without another condition.
	quietPeriod = 5 * time.Second
	// recordsPeriod is the time without a call after which ccm has stored the records that it defers while Services
	// change.
	recordsPeriod = 2 * loadbalancer.RecordCalm
	// maxTargets is the number of nodes that are targets of load balancers, whose number clouds limit, and targetValue
	// the value of the label that selects them.
	maxTargets  = 100
	targetValue = "yes"
	// idle is the length of the last phase, in which nothing changes. The phase's name contains it too.
	idle = time.Minute
	// DefaultPhaseTimeout is the default of Options.PhaseTimeout.
	DefaultPhaseTimeout = 10 * time.Minute
	// spareLoadBalancers is the upper bound of load balancers that phases create in addition to those of all
	// Services.
	spareLoadBalancers = 100
	// refreshEvery is the --node-status-update-frequency under which the refresh is measured. Its default is 5m;
	// like the default it is longer than the max age of a snapshot, so that a refresh has to read from the
	// cloud.
	refreshEvery = instances.SnapshotMaxAge + 15*time.Second
)

// ManagerArgs are the arguments of every manager in a benchmark. Pod routes are off, because one route for
// each node would hide everything else. -v=2 makes the framework log the duration of a refresh.
func ManagerArgs() []string { return []string{"--configure-cloud-routes=false", "-v=2"} }

// OwnArgs are the arguments of ccm only. With hundreds of load balancers its audit reads one every few
// seconds, and those calls would count in the measured phase.
func OwnArgs() []string { return []string{"--load-balancer-audit-period=0"} }

// Run measures all phases, one after the other, on one cluster.
func Run(ctx context.Context, b lab.Binaries, o Options) (_ Report, err error) {
	o.PhaseTimeout = cmp.Or(o.PhaseTimeout, DefaultPhaseTimeout)
	args := ManagerArgs()
	if o.Manager.Binary != "" {
		b.CCM = o.Manager.Binary
	} else {
		args = append(args, OwnArgs()...)
	}
	cluster, err := lab.StartCluster(ctx, b, lab.ClusterOptions{
		Provider: o.Provider, Dir: o.Dir, Step: o.Step, Listen: o.Manager.Listen,
		Cloud: lab.SimulatorOptions{
			Latency: o.Latency, Services: o.ServicesAt, LoadBalancers: o.Services + spareLoadBalancers,
		},
		ManagerArgs: slices.Concat(args, o.Manager.Args),
		CloudConfig: o.Manager.Config,
	})
	if err != nil {
		return Report{}, err
	}
	defer func() {
		err = errors.Join(err, o.Step(context.WithoutCancel(ctx), "stopping everything", cluster.Stop))
	}()
	r, stopWatching, err := newWatchingRunner(ctx, cluster, o)
	if err != nil {
		return Report{}, err
	}
	defer stopWatching()
	report := Report{
		Provider: o.Provider, Manager: o.Manager.Binary, Nodes: r.Nodes, Services: r.Services,
		RealServices: o.ServicesAt != "", LatencyMilliseconds: o.Latency.Milliseconds(), CPUs: runtime.NumCPU(),
		Targets: min(r.Nodes, r.targets()),
	}
	for _, p := range r.phases() {
		err := o.Step(ctx, p.name, func(ctx context.Context) error {
			measured, err := r.runPhase(ctx, p)
			if err == nil {
				report.Phases = append(report.Phases, measured)
			}
			return err
		})
		if err != nil {
			return report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if o.Again && report.phase(lab.PhaseCreateAll).Mutations > 0 {
		err = o.Step(ctx, "interruption", func(ctx context.Context) (err error) {
			report.Interruption, err = r.interrupt(ctx, report.phase(lab.PhaseCreateAll).Mutations)
			return err
		})
	}
	return report, err
}

// runPhase prepares and measures a phase.
func (r *runner) runPhase(ctx context.Context, p phase) (measured Phase, err error) {
	if p.prepare != nil {
		if err := p.prepare(ctx); err != nil {
			return Phase{}, err
		}
	}
	if measured, err = r.measure(ctx, p); err != nil {
		return Phase{}, err
	}
	if budget, ok := r.budgets[p.key]; ok && !r.realServices() {
		measured.Target = &budget
	}
	if r.Again && p.key != lab.PhaseRestart {
		measured.Again, err = r.measureRestart(ctx)
	}
	return measured, err
}

// runner measures phases on a cluster. Its numbers of nodes and Services are those of all clouds together.
type runner struct {
	Options
	cluster *lab.Cluster
	watch   *watch
	budgets map[string]lab.Budget
	// extraServices counts the Services in addition to the first ones, extraNodes the nodes.
	extraServices, extraNodes int
	// neighbors counts the foreign nodes.
	neighbors atomic.Int64
}

func newRunner(cluster *lab.Cluster, o Options) *runner {
	clouds := len(cluster.Clouds)
	o.Nodes, o.Services = o.Nodes*clouds, o.Services*clouds
	r := &runner{Options: o, cluster: cluster, budgets: lab.Budgets(o.Provider, o.Nodes, o.Services)}
	for _, cloud := range cluster.Clouds {
		if _, ok := lab.Budgets(cloud.Provider, o.Nodes, o.Services)[lab.PhaseCreateSlow]; ok {
			setProvisionTimes(cloud, lab.QuickSettle, lab.QuickSettle)
		}
	}
	return r
}

// newWatchingRunner returns a runner that watches the cluster, with the namespace of its Services, and the function
// that ends the watches: the API server waits for open ones when it stops.
func newWatchingRunner(ctx context.Context, cluster *lab.Cluster, o Options) (*runner, func(), error) {
	r := newRunner(cluster, o)
	watchCtx, stop := context.WithCancel(ctx)
	var err error
	if r.watch, err = startWatch(watchCtx, cluster.Plane.Client); err == nil {
		err = lab.CreateNamespace(ctx, cluster.Plane.Client)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return r, stop, nil
}

func (r *runner) measure(ctx context.Context, p phase) (Phase, error) {
	ctx, cancel := context.WithTimeout(ctx, r.PhaseTimeout)
	defer cancel()
	for _, log := range r.logs() {
		log.Reset()
	}
	manager := r.cluster.Manager()
	before, err := manager.Usage()
	if err != nil {
		before = lab.Usage{} // The process of the last phase has ended: the next one starts at zero.
	}
	started := time.Now()
	duration, err := p.do(ctx)
	if err == nil && duration == 0 {
		duration = time.Since(started)
		if last := r.lastCall(started); p.lastCall && last > 0 {
			duration = last
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
		Key: p.key, Name: p.name, Seconds: lab.Seconds(duration),
		CPUSeconds: lab.Seconds(after.CPU - before.CPU), PeakMemoryBytes: after.PeakMemory, Operations: map[string]int{},
	}
	for _, cloud := range r.cluster.Clouds {
		out.add(cloud, len(r.cluster.Clouds) > 1)
	}
	return out, nil
}

// add counts the calls of a cloud; with several clouds by its name, too.
func (p *Phase) add(cloud *lab.Cloud, several bool) {
	log, calls := cloud.World.Front().Log(), 0
	for _, s := range log.Stats() {
		calls += s.Calls
		p.Failed += s.Failed + s.NoAnswer
		if s.Mutating {
			p.Mutations += s.Calls
		} else {
			p.Reads += s.Calls
		}
	}
	for name, n := range log.Count() {
		p.Operations[name] += n
	}
	if several {
		if p.Clouds == nil {
			p.Clouds = map[string]int{}
		}
		p.Clouds[cloud.Provider] = calls
	}
}

// explain adds ccm's exit, or the last line of its log, to the error of a phase.
func (r *runner) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if ended := r.cluster.Ended(); ended != "" {
		return fmt.Errorf("%w: %s", err, ended)
	}
	return fmt.Errorf("%w; the log of ccm ends: %s", err, lab.Tail(r.cluster.ManagerOptions.Log, 1))
}
