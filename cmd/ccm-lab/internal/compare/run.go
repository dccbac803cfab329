package compare

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Options configure a comparison.
type Options struct {
	Binaries lab.Binaries
	// Dir takes logs and the data of all processes. It must exist.
	Dir string
	// Version is the version of this program, and Date the day of the run.
	Version, Date string
	// Columns are compared.
	Columns   []Column
	Scenarios []Scenario
	// Operations are measured after the scenarios.
	Operations bool
	// Parallel is the number of columns that run at the same time.
	Parallel int
	// Notify reports progress, one line at a time; safe for concurrent use.
	Notify func(line string)
	// Resume has the results of an interrupted run, which are kept; nil starts from nothing.
	Resume *report.Report
	// Add has results of other managers from earlier runs, which are shown beside those of this run.
	Add []report.Report
}

// Column is one manager on one cloud.
type Column struct {
	// Name identifies the column, and Title is displayed.
	Name, Title string
	// Provider is one of lab.Providers, and Kind one of its kinds of load balancers.
	Provider string
	Kind     lab.BalancerKind
	// Others are further clouds of the same cluster and manager, with a node each.
	Others []string
	// Manager is another manager's binary; the zero value is ccm.
	Manager bench.Manager
	// ServicesAt is lab.SimulatorOptions.Services.
	ServicesAt string
	// Descriptor is what the manager declares; nil for another manager.
	Descriptor *provider.Descriptor
}

// Scenario shows one capability.
type Scenario struct {
	ID, Group, Title, Detail string
	// Routes runs it with the route controller.
	Routes bool
	// Values is set if readers compare the summaries of the cells.
	Values bool
	// Periodic marks a scenario that waits for what the framework's controllers do periodically, or at a start. Its reads
	// depend on time.
	Periodic bool
	// Args are further arguments of ccm, for a capability that is off by default. Other managers do not have them.
	Args []string
	// Declared returns the verdict that a descriptor declares, or "".
	Declared func(d provider.Descriptor) report.Verdict
	Run      trialFunc
}

// trialFunc runs a scenario, and returns the verdict and its summary. With an error, there is no verdict.
type trialFunc func(ctx context.Context, t *Trial) (report.Verdict, string, error)

// result is a report while columns add to it.
type result struct {
	options Options
	total   int

	mu     sync.Mutex
	done   int
	report report.Report
}

func (r *result) notify(format string, args ...any) {
	if r.options.Notify != nil {
		r.options.Notify(fmt.Sprintf(format, args...))
	}
}

// Trial is one scenario on one column: it collects the evidence.
type Trial struct {
	*run
	namespace string
	started   time.Time
	evidence  report.Evidence
	// duration is the time until the last condition was reached.
	duration time.Duration
	// before are the objects in the cloud when the trial started, and firstCall is the first call in the log after it.
	before    []world.Object
	firstCall int
	cleanups  []func(context.Context) error
	// terminate terminates the machine of join, unless it has been terminated.
	terminate func() error
}

// run is a column that is running: a cluster with some nodes.
type run struct {
	*Column
	cluster    *lab.Cluster
	live       *lab.Live
	kubernetes string
	// nodes are the names of the nodes that every scenario finds.
	nodes    []string
	fixtures fixtures
	// scenario is the one that runs.
	scenario Scenario
}
