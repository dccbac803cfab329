package provider

import "time"

// Parts of a manager's work that can fail while the others go on. Each is what one group of the
// framework's controllers does.
const (
	PartNodes         = "nodes"
	PartLoadBalancers = "load-balancers"
	PartRoutes        = "routes"
)

// PartHealth says how one part of the manager's work fares.
type PartHealth struct {
	// Part is one of the names above.
	Part string
	// Err is why the part cannot do its work, nil while nothing speaks against it. Its message is
	// shown to users who need not be authenticated, so it carries no secret.
	Err error
	// Since is when Err began; zero without one.
	Since time.Time
}

// HealthReporter is implemented by providers that know which parts of their work fail. Health makes
// no call and is quick: it says what the calls so far have shown, and lists the parts that the
// configuration asks for. A part that failed is checked again by Check: see Checker.
type HealthReporter interface {
	Health() []PartHealth
}
