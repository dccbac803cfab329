// Package sim is a simulation of AWS: the HTTP APIs of EC2, both generations of Elastic Load
// Balancing, STS and the instance metadata service, with state, at one endpoint. Clients that are
// pointed at it by endpoint settings work unchanged.
//
// It simulates control, not traffic: nothing is forwarded, and targets are healthy when their
// instance runs.
package sim

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// callLogLimit bounds the memory of a cloud that runs for days; counts go on beyond it.
const callLogLimit = 100_000

// Cloud is one account in one region. It is safe for concurrent use.
type Cloud struct {
	options Options
	clock   clock.PassiveClock
	front   *kit.Front
	policy  *iam.Policy // nil allows everything

	mu         sync.Mutex // guards all below
	state      *state
	random     *rand.Rand
	disruption Disruption
	// used counts actions that were allowed, by what IAM calls them.
	used map[string]int
}

// New builds a cloud. All bad options are reported at once.
func New(o Options) (*Cloud, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Cloud{options: o, clock: o.Clock, state: newState(), random: rand.New(rand.NewPCG(uint64(o.Seed), 1)),
		used: map[string]int{}}
	if len(o.Policy) > 0 {
		policy, err := iam.Parse(o.Policy)
		if err != nil {
			return nil, err
		}
		c.policy = &policy
	}
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
		return nil, fmt.Errorf("building the simulated VPC: %w", err)
	}
	return c, nil
}

// Front returns the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *kit.Front { return c.front }

// tx is one operation on the state. It holds the cloud's lock.
type tx struct {
	*state
	cloud *Cloud
	call  call
	now   time.Time
	o     *Options
	// byAddress are the network interfaces by each of their addresses, from when it is first needed in the operation.
	byAddress map[netip.Addr]*networkInterface
}

// do runs one operation. Operations check everything before they change anything, so that an
// error leaves the state as it was.
func (c *Cloud) do(k call, work func(*tx) (any, error)) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &tx{state: c.state, cloud: c, call: k, now: c.clock.Now(), o: &c.options}
	t.advance()
	if k.noObjects {
		t.state = newState()
	}
	return work(t)
}

// console runs an operation of an administrator: no latency, limit, fault or settle time applies.
func (c *Cloud) console(work func(*tx) error) error {
	_, err := c.do(call{}, func(t *tx) (any, error) {
		return nil, work(t)
	})
	return err
}

// requestID returns a random UUID.
func (c *Cloud) requestID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return kit.UUID(c.random)
}

// newID returns an ID in the long form: the prefix and 17 hexadecimal digits of which the first is 0.
func (t *tx) newID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, t.cloud.random.Uint64())
}

// hideNew hides a new object from reads for the settle time, unless it was made by the console.
func (t *tx) hideNew(id string) {
	if t.o.SettleTime > 0 && t.call.service != "" {
		t.visibleAt[id] = t.now.Add(t.o.SettleTime)
	}
}

func (t *tx) visible(id string) bool {
	at, hidden := t.visibleAt[id]
	return !hidden || !t.now.Before(at)
}

// arn names a resource of this account and region.
func (t *tx) arn(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", t.o.partition(), service, t.o.Region, t.o.Account, resource)
}
