package sim

// Front stands between clients and a simulator.
type Front struct{}
