package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

const (
	kills = 8
	// killSeed makes the same changes and kills each time; which call has which number still
	// depends on the order in which parallel work gets its turn.
	killSeed = 20260101
	// killWithin is how long a manager lives at most, when it makes too few calls to be killed at one.
	killWithin = 5 * time.Second
)

// TestKilledAnywhere: a manager that is killed again and again, at calls chosen by chance, before
// or after the cloud has done them, while Services and nodes come, change and go. The manager that
// is left in peace at the end makes everything right.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	// A machine that vanishes before its node had a provider ID is waited for that long.
	c := newCluster(t, setup{flags: []string{"--node-not-found-grace=2s"}})
	chaos := &chaos{cluster: c, random: rand.New(rand.NewPCG(killSeed, 0))}
	c.must(c.session.JoinN(t.Context(), 2))
	atCalls := 0
	for round := range kills {
		if chaos.round(round) {
			atCalls++
		}
	}
	if atCalls < kills/2 {
		t.Errorf("only %d of %d kills hit a call: the rest hit managers that had nothing to do", atCalls, kills)
	}
	t.Logf("seed %d: %d of %d kills at a call to the cloud", killSeed, atCalls, kills)
	c.start()
	c.converge()
	c.clear()
}

// chaos changes a cluster by chance.
type chaos struct {
	*cluster
	random   *rand.Rand
	made     int
	services []string
	machines []string
}

// round runs one manager from its start to its violent end, during which the cluster changes. It
// reports whether a call to the cloud was hit.
func (c *chaos) round(number int) (atCall bool) {
	c.t.Helper()
	front := c.world.Front()
	managers, killed := make(chan *lab.Manager, 1), make(chan struct{})
	front.OnKill(func() {
		(<-managers).Kill()
		close(killed)
	})
	fault := sim.Fault{Kind: sim.FaultKillBefore, Call: 1 + c.random.IntN(24)}
	if c.random.IntN(2) == 0 {
		fault.Kind = sim.FaultKillAfter
	}
	front.SetFaults(fault)
	manager, err := lab.StartManager(c.live.Options)
	c.must(err)
	managers <- manager
	var changes []string
	for range 4 {
		what, err := c.change()
		c.must(err)
		changes = append(changes, what)
	}
	timer := time.NewTimer(killWithin)
	defer timer.Stop()
	select {
	case <-killed:
		atCall = true
	case <-timer.C:
		front.SetFaults()
		manager.Kill()
	}
	front.SetFaults()
	front.OnKill(nil)
	front.Revive()
	c.t.Logf("round %d: %s; %s at call %d, hit: %t", number, strings.Join(changes, ", "), fault.Kind, fault.Call, atCall)
	return atCall
}

// change does one thing that users and machines do, and says what.
func (c *chaos) change() (string, error) {
	ctx, s := c.t.Context(), c.session
	c.made++
	switch what := c.random.IntN(10); {
	case what < 4 || len(c.services) == 0:
		name := fmt.Sprintf("svc-%d", c.made)
		c.services = append(c.services, name)
		return "create " + name, s.Put(ctx, service(name, 80, 443))
	case what < 6:
		svc := service(c.services[c.random.IntN(len(c.services))], 80, int32(8000+c.made))
		svc.Spec.LoadBalancerSourceRanges = []string{fmt.Sprintf("203.0.113.%d/32", c.made)}
		return "change " + svc.Name, s.Put(ctx, svc)
	case what < 7:
		i := c.random.IntN(len(c.services))
		name := c.services[i]
		c.services = slices.Delete(c.services, i, i+1)
		return "delete " + name, s.Delete(ctx, name)
	case what < 9 || len(c.machines) == 0:
		name := fmt.Sprintf("machine-%d", c.made)
		c.machines = append(c.machines, name)
		return "launch " + name, s.Join(ctx, conformance.Machine{Name: name})
	default:
		name := c.machines[0]
		c.machines = c.machines[1:]
		return "terminate " + name, s.Terminate(ctx, name, true)
	}
}
