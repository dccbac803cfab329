package provider

import "time"

// Parts of a manager's work that can fail independently. Each corresponds to one group of the framework's
// controllers.
const (
	PartNodes         = "nodes"
	PartLoadBalancers = "load-balancers"
	PartRoutes        = "routes"
)

// PartHealth is the health of one part of the manager's work.
type PartHealth struct {
	// Part is one of the names above.
	Part string
	// Err is the reason why the part is unhealthy, nil while it is healthy. Its message is shown to users who
	// need not be authenticated, so it contains no secrets.
	Err error
	// Since is when Err began; zero without one.
	Since time.Time
}

// HealthReporter is implemented by providers that report the health of their parts. Health makes no call and
// is fast: it reports the result of previous calls, and lists the parts that the configuration enables. Check
// checks a failed part again: see Checker.
type HealthReporter interface {
	Health() []PartHealth
}
