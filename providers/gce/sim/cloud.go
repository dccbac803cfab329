// Package sim is a simulation of Google Compute Engine: its REST API, Google's token endpoints and the metadata server
// of instances, with state, at one endpoint. Clients that are pointed at it work unchanged.
//
// It simulates control, not traffic: nothing is forwarded, and instances are healthy if they run and firewall rules
// allow the health checks. Resources of other products than passthrough load balancers are refused, and so are fields
// that are not simulated.
package sim

import (
	"math/rand/v2"
	"sync"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/auth"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Options of a cloud. The zero value is a project with one region of three zones that is ready for a cluster, without
// latency, limits, faults and settle times.
type Options = core.Options

type (
	// Outcome is how an operation ends.
	Outcome = core.Outcome
	// OutcomeRule selects operations and their outcome.
	OutcomeRule = core.OutcomeRule
)

// The closed set of outcomes.
const (
	OutcomeDone  = core.OutcomeDone
	OutcomeError = core.OutcomeError
	OutcomeStuck = core.OutcomeStuck
)

// callLogLimit bounds the memory of a cloud that runs for days; counts continue beyond it.
const callLogLimit = 100_000

// Cloud is a set of projects. It is safe for concurrent use.
type Cloud struct {
	options Options
	clock   clock.WithTicker
	front   *kit.Front

	mu     sync.Mutex // protects all fields below
	state  *lb.State
	random *rand.Rand
	tokens *auth.Tokens
	self   string
	deny   func(permission, project string) bool
	// used are the permissions that were granted, as "permission in project".
	used map[string]bool
}

// Front returns the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *kit.Front { return c.front }

// createFixtures adds the projects with regions and zones, and the cluster's network with a subnet in each region.
func createFixtures(s *lb.State) {
	s.AddPlaces()
	o := s.Options
	n := s.AddNetwork(o.NetworkProject, o.Network, o.AutoSubnets)
	for i, region := range o.Regions() {
		subnet := s.AddSubnetwork(n, region, o.Network, core.Shifted(o.Machines, i))
		if o.Pods.IsValid() && region == o.Region {
			subnet.SecondaryIPRanges = []vpc.SecondaryRange{{RangeName: "pods", IPCIDRRange: o.Pods.String()}}
		}
	}
}

// ask runs a function on the state: a method of the API, or one of an administrator, for which no latency, limit, fault
// or settle time applies. They check everything before they change anything: an error leaves the state as it was.
func ask[T any](c *Cloud, work func(*lb.State) (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Advance()
	c.state.FinishBoots()
	return work(c.state)
}

// console runs a function of an administrator.
func (c *Cloud) console(work func(*lb.State) error) error {
	_, err := ask(c, func(s *lb.State) (any, error) { return nil, work(s) })
	return err
}

// inspect runs a function of an administrator that cannot fail.
func (c *Cloud) inspect(work func(*lb.State)) {
	_ = c.console(func(s *lb.State) error { work(s); return nil })
}
