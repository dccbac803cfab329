// Package sim is a simulation of OpenStack: the HTTP APIs of Keystone, Nova, Neutron, Octavia and
// Barbican, with state, at one endpoint, each at the path that is its type. Clients that are pointed at
// its Keystone, at /identity/v3, find the rest in the catalogue and work unchanged.
//
// It simulates control, not traffic: nothing is forwarded, and members are healthy when their server runs.
package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// callLogLimit bounds the memory of a cloud that runs for days; counts go on beyond it.
const callLogLimit = 100_000

// Cloud is one region with the projects of its Keystone. It is safe for concurrent use.
type Cloud struct {
	options Options
	clock   clock.PassiveClock
	front   *kit.Front

	mu     sync.Mutex // guards all below
	state  *state
	random *rand.Rand
}

// fixtureSeed gives fixtures the same IDs in all clouds, so that one configuration fits them all.
const fixtureSeed = 0

// New builds a cloud. All bad options are reported at once.
func New(o Options) (*Cloud, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Cloud{options: o, clock: o.Clock, state: newState(), random: rand.New(rand.NewPCG(fixtureSeed, 2))}
	h := &handler{cloud: c, catalogue: catalogue()}
	c.front = kit.NewFront(kit.FrontOptions{
		Handler:   h,
		Describe:  h.describe,
		Dialect:   h.dialect(),
		Clock:     o.Clock,
		Latency:   o.Latency,
		Limits:    o.Limits,
		Seed:      o.Seed,
		ErrorRate: o.ErrorRate,
		LogLimit:  callLogLimit,
	})
	if err := c.console((*tx).createFixtures); err != nil {
		return nil, fmt.Errorf("building the simulated project: %w", err)
	}
	c.random = rand.New(rand.NewPCG(uint64(o.Seed), 1))
	return c, nil
}

// Front returns the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *kit.Front { return c.front }

// tx is one operation on the state. It holds the cloud's lock.
type tx struct {
	*state
	cloud *Cloud
	call  *call
	now   time.Time
	o     *Options
}

// do runs one operation. Operations check everything before they change anything, so that an
// error leaves the state as it was.
func (c *Cloud) do(k *call, work func(*tx) (answer, error)) (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &tx{state: c.state, cloud: c, call: k, now: c.clock.Now(), o: &c.options}
	t.advance()
	return work(t)
}

// console runs an operation of an administrator: no latency, limit, fault or settle time applies.
func (c *Cloud) console(work func(*tx) error) error {
	_, err := c.do(&call{}, func(t *tx) (answer, error) {
		return answer{}, work(t)
	})
	return err
}

// newID returns a random UUID.
func (t *tx) newID() string { return kit.UUID(t.cloud.random) }

// newHex returns a random ID as Keystone makes them, a UUID without dashes.
func (t *tx) newHex() string {
	return fmt.Sprintf("%016x%016x", t.cloud.random.Uint64(), t.cloud.random.Uint64())
}

// next returns the number of a new object.
func (t *tx) next() int {
	t.made++
	return t.made
}
