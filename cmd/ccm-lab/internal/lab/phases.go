package lab

import "time"

// Names of the benchmark's phases. Clouds assign budgets to them.
const (
	PhaseJoin         = "join"
	PhaseRefresh      = "refresh"
	PhaseCreateAll    = "create-all"
	PhaseCreateOne    = "create-one"
	PhaseDeleteOne    = "delete-one"
	PhaseAddNode      = "add-node"
	PhaseRestart      = "restart"
	PhaseRestartAgain = "restart-again"
	PhaseDeleteAll    = "delete-all"
	PhaseIdle         = "idle"

	// Phases that run only on clouds with a budget for them.
	PhaseCreateSlow = "create-slow"
	PhaseCreateMany = "create-many"
	PhaseSilent     = "silent"
	PhaseRoutes     = "routes"

	// PhaseJoinUnlabeled runs only in the comparison of several clouds with each of them alone.
	PhaseJoinUnlabeled = "join-unlabeled"
)

// Phases returns the names of the phases that run on every cloud, in their order.
func Phases() []string {
	return []string{PhaseJoin, PhaseRefresh, PhaseCreateAll, PhaseCreateOne, PhaseDeleteOne, PhaseAddNode, PhaseRestart,
		PhaseRestartAgain, PhaseDeleteAll, PhaseIdle}
}

// Parameters of the phases that only some clouds have. Targets are set for these numbers.
const (
	// SilentNodes is the number of nodes that stop reporting, for a minute.
	SilentNodes = 50
	// ManyServices is the number of Services that are created at the same time.
	ManyServices = 20
	// UnlabeledNodes is the number of nodes of each cloud in PhaseJoinUnlabeled.
	UnlabeledNodes = 50
	// RoutedNodes is the number of nodes that get a route each.
	RoutedNodes = 100
	// SlowSettle is the provisioning time of a new load balancer in them.
	SlowSettle = 60 * time.Second
	// QuickSettle is the provisioning time of a new load balancer in all other phases.
	QuickSettle = 200 * time.Millisecond
	// MemberSettle is the duration of a change of members when a node joins.
	MemberSettle = 3 * time.Second
)

// Settler is a simulated cloud with configurable provisioning times of load balancers: for new ones, and for
// changes.
type Settler interface {
	SetSettleTimes(provision, settle time.Duration)
}

// Seconds returns a duration in seconds, rounded to milliseconds.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
