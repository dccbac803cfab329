package lab

import "time"

// Names of the benchmark's phases, by which clouds name their budgets.
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

	// Those that are measured only on clouds that name a budget for them.
	PhaseCreateSlow = "create-slow"
	PhaseCreateMany = "create-many"
	PhaseSilent     = "silent"
	PhaseRoutes     = "routes"
)

// What the phases that not every cloud has are about. Targets are set for these numbers.
const (
	// SilentNodes stop reporting, for a minute.
	SilentNodes = 50
	// ManyServices are made at once.
	ManyServices = 20
	// RoutedNodes get a route each.
	RoutedNodes = 100
	// SlowSettle is how long a new load balancer takes in them.
	SlowSettle = 60 * time.Second
	// QuickSettle is how long a new load balancer takes in all other phases.
	QuickSettle = 200 * time.Millisecond
	// MemberSettle is how long a change of members takes where a node joins.
	MemberSettle = 3 * time.Second
)

// Settler is a simulated cloud whose load balancers take as long as it is told: new ones, and changes of them.
type Settler interface {
	SetSettleTimes(provision, settle time.Duration)
}
