// Package sim is a simulation of OpenStack: the HTTP APIs of Keystone, Nova, Neutron, Octavia and Barbican,
// with state, at one endpoint, each under the path of its type. Clients with its Keystone URL, /identity/v3,
// find the other services in the catalog and work unchanged.
//
// It simulates control, not traffic: nothing is forwarded, and members are healthy if their server runs.
package sim

import (
	"math/rand/v2"
	"sync"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/barbican"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/keystone"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/octavia"
)

// callLogLimit bounds the memory of a cloud that runs for days; counts continue beyond it.
const callLogLimit = 100_000

// Cloud is one region with the projects of its Keystone. It is safe for concurrent use.
type Cloud struct {
	options Options
	clock   clock.PassiveClock
	front   *kit.Front

	mu     sync.Mutex // protects all fields below
	state  *state
	random *rand.Rand
}

// fixtureSeed gives fixtures the same IDs in all clouds, so that one configuration fits them all.
const fixtureSeed = 0

// Front returns the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *kit.Front { return c.front }

// UnusedAccessRules returns the access rules of the application credential that have allowed no request so far. If
// several allow a request, it counts for the first.
func (c *Cloud) UnusedAccessRules() []AccessRule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.keystone.UnusedAccessRules()
}

// state has the state of all services.
type state struct {
	core     *core.State
	keystone *keystone.State
	neutron  *neutron.State
	nova     *nova.State
	octavia  *octavia.State
	barbican *barbican.State
}

func newState() *state {
	return &state{&core.State{}, keystone.NewState(), neutron.NewState(), nova.NewState(), octavia.NewState(),
		barbican.NewState()}
}

func (c *Cloud) begin(k *core.Call) *tx {
	base := &core.Tx{State: c.state.core, Options: &c.options, Call: k, Now: c.clock.Now(), Random: c.random}
	network := &neutron.Tx{Tx: base, State: c.state.neutron}
	compute := &nova.Tx{Tx: network, State: c.state.nova}
	secrets := &barbican.Tx{Tx: base, State: c.state.barbican}
	t := &tx{
		Tx:       &octavia.Tx{Tx: compute, State: c.state.octavia, Secrets: secrets},
		keystone: &keystone.Tx{Tx: base, State: c.state.keystone},
		nova:     compute, neutron: network, barbican: secrets,
	}
	base.Hidden = t.hiddenAttributes()
	return t
}

// do runs one operation. Operations check everything before they change anything, so that an
// error leaves the state as it was.
func (c *Cloud) do(k *core.Call, work func(*tx) (core.Response, error)) (core.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.begin(k)
	t.advance()
	return work(t)
}

// console runs an operation of an administrator: no latency, limit, fault or settle time applies.
func (c *Cloud) console(work func(*tx) error) error {
	_, err := c.do(&core.Call{}, func(t *tx) (core.Response, error) {
		return core.Response{}, work(t)
	})
	return err
}

// advance applies the changes that are due by now.
func (t *tx) advance() {
	t.FinishDueChanges()
	t.FinishBuilds()
}
