package plan

import (
	"slices"
)

// Disruption is the most severe effect that a change has on clients.
type Disruption string

// The closed set of disruptions, in the order of severity. A change that declares none disrupts nothing.
const (
	DisruptsNothing Disruption = ""
	// DisruptsMembers: nodes stop receiving traffic, others take over.
	DisruptsMembers Disruption = "members"
	// DisruptsTraffic: a listener or pool is replaced, or a rule that allows traffic or probes is removed.
	DisruptsTraffic Disruption = "traffic"
	// DisruptsAddress: an address is released, moved or replaced.
	DisruptsAddress Disruption = "address"
	// DisruptsLoadBalancer: the load balancer is deleted, or deleted and created again.
	DisruptsLoadBalancer Disruption = "load balancer"
)

// Severe reports whether the change disrupts more than members.
func (d Disruption) Severe() bool { return d != DisruptsNothing && d != DisruptsMembers }

// severity orders disruptions.
func (d Disruption) severity() int {
	return slices.Index([]Disruption{
		DisruptsNothing, DisruptsMembers, DisruptsTraffic, DisruptsAddress, DisruptsLoadBalancer,
	}, d)
}
