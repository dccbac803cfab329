// Package sim is a simulation of AWS: the HTTP APIs of EC2, both generations of Elastic Load
// Balancing, STS and the instance metadata service, with state, at one endpoint. Clients that are
// pointed at it by endpoint settings work unchanged.
//
// It simulates control, not traffic: nothing is forwarded, and targets are healthy if their instance runs and security
// groups allow the health checks.
package sim

import (
	"math/rand/v2"
	"sync"

	"k8s.io/utils/clock"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/imds"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/nlb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/sts"
)

// callLogLimit bounds the memory of a cloud that runs for days; counts continue beyond it.
const callLogLimit = 100_000

// Cloud is one account in one region. It is safe for concurrent use.
type Cloud struct {
	options Options
	clock   clock.PassiveClock
	front   *kit.Front
	policy  *iam.Policy // nil allows everything

	mu         sync.Mutex // protects all fields below
	state      *state
	random     *rand.Rand
	disruption Disruption
	// used counts allowed actions by their IAM names.
	used        map[string]int
	permissions Permissions
}

// Disruption affects the whole cloud; faults of the Front affect single calls.
type Disruption struct {
	// Denied are the IAM actions, with wildcards, that are denied for all callers: "ec2:Describe*".
	Denied []string
	// Empty makes reads return no objects, like reads in the wrong account or region. Changes still find their
	// objects.
	Empty bool
	// Zones are disrupted availability zones: reads that include their instances fail.
	Zones []string
	// Truncated cuts responses off in the middle, as a broken proxy does. The operation is executed.
	Truncated bool
}

// Permissions has the decisions of the policy of the options about the calls so far.
type Permissions struct {
	// Required are the actions and resources of the policy without which at least one call would have been denied.
	Required map[iam.Element]bool
	// Denied are the requests that no statement allowed, as "action on resource".
	Denied map[string]bool
}

// Front returns the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *kit.Front { return c.front }

// state has the state of all services.
type state struct {
	core    *core.State
	ec2     *ec2.State
	elb     *elb.State
	nlb     *nlb.State
	classic *classic.State
	sts     *sts.State
	imds    *imds.State
}

func newState() *state {
	return &state{core.NewState(), ec2.NewState(), &elb.State{}, nlb.NewState(), classic.NewState(), sts.NewState(),
		imds.NewState()}
}

// tx is one operation on the state. It holds the cloud's lock.
type tx struct {
	*ec2.Tx
	elb     *elb.Tx
	nlb     *nlb.Tx
	classic *classic.Tx
	sts     *sts.Tx
	imds    *imds.Tx
}

// generation is one of the two APIs of load balancers, as the console uses it.
type generation interface {
	LoadBalancers() []world.LoadBalancer
	Delete(name string) bool
	Drift(name string) ([]string, error)
	Count(objects map[string]int)
	Inventory() []world.Object
	RemoveInstance(id string)
}

func (c *Cloud) begin(k core.Call, s *state) *tx {
	base := &core.Tx{State: s.core, Options: &c.options, Call: k, Now: c.clock.Now(), Random: c.random}
	compute := &ec2.Tx{Tx: base, State: s.ec2, DisruptedZones: c.disruption.Zones}
	balancing := &elb.Tx{Tx: compute, State: s.elb}
	tokens := &sts.Tx{Tx: base, State: s.sts}
	t := &tx{
		Tx: compute, elb: balancing, nlb: &nlb.Tx{Tx: balancing, State: s.nlb},
		classic: &classic.Tx{Tx: balancing, State: s.classic}, sts: tokens,
		imds: &imds.Tx{Tx: compute, State: s.imds, STS: tokens},
	}
	compute.OnTerminate = func(id string) {
		for _, g := range t.generations() {
			g.RemoveInstance(id)
		}
	}
	return t
}

func (t *tx) generations() []generation { return []generation{t.nlb, t.classic} }

// do runs one operation. Operations check everything before they change anything, so that an
// error leaves the state as it was.
func (c *Cloud) do(k core.Call, work func(*tx) (any, error)) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.begin(k, c.state)
	t.Advance()
	if k.NoObjects {
		t = c.begin(k, newState())
	}
	return work(t)
}

// console runs an operation of an administrator: no latency, limit, fault or settle time applies.
func (c *Cloud) console(work func(*tx) error) error {
	_, err := c.do(core.Call{}, func(t *tx) (any, error) {
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
