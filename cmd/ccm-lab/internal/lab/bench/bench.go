package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
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

// setProvisionTimes sets the provisioning time of load balancers, if the simulator supports it.
func setProvisionTimes(cloud *lab.Cloud, provision, change time.Duration) {
	if settler, ok := cloud.World.(lab.Settler); ok {
		settler.SetSettleTimes(provision, change)
	}
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

// logs returns the calls of each cloud.
func (r *runner) logs() (logs []*sim.Log) {
	for _, cloud := range r.cluster.Clouds {
		logs = append(logs, cloud.World.Front().Log())
	}
	return logs
}

// phase is one measurement.
type phase struct {
	// name is displayed; key is one of lab's names of phases.
	key, name string
	// prepare is not measured.
	prepare func(ctx context.Context) error
	// do runs the phase and returns when it is complete. A nonzero result is its duration; zero means until do
	// returned, or until the last call if lastCall is set.
	do func(ctx context.Context) (time.Duration, error)
	// lastCall ends the time at the last call to the cloud.
	lastCall bool
}
