package lab

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
)
