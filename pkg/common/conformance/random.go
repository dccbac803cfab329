package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

const (
	// randomServices is the maximum number of Services.
	randomServices = 50
	// randomRounds is the number of rounds, each of which ends with settled controllers; shortRounds with
	// -short.
	randomRounds = 60
	shortRounds  = 8
	// randomChanges is the maximum number of changes per round.
	randomChanges = 12
	// faultRate is the share of calls that fail, among the first faultyCalls of a round: with permanent failures
	// the cluster would never settle.
	faultRate   = 0.05
	faultyCalls = 600
	// killRate is the share of rounds in which the manager is killed at a call.
	killRate = 0.25
	// holdRate is the share of rounds in which the manager holds every disruptive change, until the end of the round.
	holdRate = 0.4
)

// randomSeeds are the test cases; -short runs the first. A failure names its seed; more can be added.
var randomSeeds = []uint64{1, 2, 3}

// RunRandom changes a cluster of up to 50 Services at random, while 5 % of the cloud calls fail and the manager is
// killed from time to time. It checks that in the end the cloud contains exactly the desired objects. Some Services
// become invalid: they keep the objects of their last valid form, with the current nodes. In some rounds all disruption
// is held: then listeners stay, members follow, and approved changes are applied.
func RunRandom(t *testing.T, subject Subject) {
	t.Helper()
	controllers.DiscardLogs(t)
	seeds := randomSeeds
	if testing.Short() {
		seeds = seeds[:1]
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &randomLoad{random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // must be repeatable
				err := c.run(t, subject)
				line := fmt.Sprintf("random load on %s, seed %d: %d changes in %d rounds, %d faults, %d kills, %d Services held, "+
					"%d approved", subject.Name, seed, c.changes, c.rounds, c.faults, c.kills, c.held, c.approved)
				_, _ = fmt.Fprintln(os.Stdout, line)
				if err != nil {
					t.Errorf("%s; the last changes were %s\n%v", line, strings.Join(c.last, ", "), err)
				}
			})
		})
	}
}

// randomLoad changes a cluster at random.
type randomLoad struct {
	random             *rand.Rand
	session            *Session
	services, machines []string
	// settled is the number of machines, from the first, with initialised nodes. Others are not terminated: a
	// node that was never ours is only deleted after its grace period.
	settled int
	// stable are the Services of the round before that this one has not changed.
	stable []string

	changes, rounds, faults, kills int
	// held and approved count Services with held changes, and those that were approved.
	held, approved int
	// last are the changes of the current round.
	last []string
}

func (c *randomLoad) run(t testing.TB, subject Subject) error {
	world, start := subject.New(t)
	ctx := klog.NewContext(t.Context(), logr.Discard())
	cluster, err := newInProcess(ctx, world, start, synctest.Wait)
	if err != nil {
		return err
	}
	defer cluster.end()
	c.session = NewSession(cluster, world, subject.Capabilities)
	c.session.Disruptions = subject.Disruptions
	c.session.ServiceAnnotations = subject.ServiceAnnotations
	// One in three attempts to verify the world may run while a guard waits for its second answer.
	c.session.Attempts = 3
	rounds := randomRounds
	if testing.Short() {
		rounds = shortRounds
	}
	for range rounds {
		if err := c.round(ctx); err != nil {
			return fmt.Errorf("round %d: %w", c.rounds, err)
		}
	}
	if err := c.session.Converge(ctx); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if err := c.session.Clear(ctx); err != nil {
		return fmt.Errorf("after deleting everything: %w", err)
	}
	return nil
}

// round makes a few changes, runs the controllers with faults, and verifies the world after the faults have ended.
func (c *randomLoad) round(ctx context.Context) error {
	c.rounds++
	c.last = nil
	c.settled, c.stable = len(c.machines), slices.Clone(c.services)
	holds := c.random.Float64() < holdRate && c.session.Capabilities.LoadBalancer
	var before map[string][]int32
	if holds {
		var err error
		if before, err = c.ports(ctx); err != nil {
			return err
		}
		if err := c.session.Restart(ctx, ManagerOptions{Disruption: provider.HoldAllDisruption}); err != nil {
			return err
		}
	}
	front := c.session.World.Front()
	front.SetFaults(c.script()...)
	for range 1 + c.random.IntN(randomChanges) {
		description, err := c.change(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", description, err)
		}
		c.changes++
		c.last = append(c.last, description)
	}
	// Errors of the controllers are expected with faults; only the final state counts.
	_ = c.session.Cluster.Settle(ctx)
	c.faults += front.Injected()
	front.SetFaults()
	if holds {
		if err := c.verifyHeld(ctx, before); err != nil {
			return fmt.Errorf("while changes are held: %w", err)
		}
		if err := c.session.Restart(ctx, ManagerOptions{}); err != nil {
			return err
		}
	}
	return c.session.Converge(ctx)
}

// ports returns the ports of each load balancer, by its Service.
func (c *randomLoad) ports(ctx context.Context) (map[string][]int32, error) {
	out := map[string][]int32{}
	for _, name := range c.services {
		lb, err := c.session.Balancer(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, l := range lb.Listeners {
			out[name] = append(out[name], l.Port)
		}
	}
	return out, nil
}

// verifyHeld checks that no load balancer has lost a port that it had before, that all have the nodes of now as
// members, and that an approval applies what is held. It approves every second Service.
func (c *randomLoad) verifyHeld(ctx context.Context, before map[string][]int32) error {
	kept := func(ctx context.Context) error {
		members, err := c.session.Members(ctx)
		if err != nil {
			return err
		}
		for _, name := range c.services {
			lb, err := c.session.Balancer(ctx, name)
			if err != nil {
				return err
			}
			ports, err := portsWithMembers(name, lb, members)
			if err != nil {
				return err
			}
			lost := slices.DeleteFunc(slices.Clone(before[name]), func(p int32) bool { return slices.Contains(ports, p) })
			if len(lost) > 0 {
				return fmt.Errorf("service %s has lost the ports %v", name, lost)
			}
		}
		return nil
	}
	if err := c.session.Settled(ctx, kept); err != nil {
		return err
	}
	for _, name := range c.services {
		if err := c.approve(ctx, name); err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
	}
	return nil
}

// approve counts a Service with held changes, and approves those of every second one.
func (c *randomLoad) approve(ctx context.Context, name string) error {
	svc := c.session.services[types.NamespacedName{Namespace: Namespace, Name: name}].DeepCopy()
	if svc.Annotations[intent.KeyScheme] != "" {
		return nil // invalid: it has no plan
	}
	p, err := c.session.Plan(ctx, name)
	if err != nil || len(p.Held) == 0 {
		return err
	}
	if c.held++; c.held%2 == 0 {
		return nil
	}
	c.approved++
	svc.Annotations[intent.KeyApprove] = p.HeldID
	if err := c.session.Put(ctx, svc); err != nil {
		return err
	}
	var ports []int32
	for _, p := range svc.Spec.Ports {
		ports = append(ports, p.Port)
	}
	return c.session.Settled(ctx, c.session.listens(name, ports...))
}

// script selects the calls of a round that fail.
func (c *randomLoad) script() []sim.Fault {
	kinds := []sim.FaultKind{sim.FaultError, sim.FaultThrottle, sim.FaultLostReply}
	var faults []sim.Fault
	for call := range faultyCalls {
		if c.random.Float64() < faultRate {
			faults = append(faults, sim.Fault{Kind: kinds[c.random.IntN(len(kinds))], Call: call + 1})
		}
	}
	if c.random.Float64() < killRate {
		c.kills++
		kill := sim.Fault{Kind: sim.FaultKillBefore, Call: 1 + c.random.IntN(40)}
		if c.random.IntN(2) == 0 {
			kill.Kind = sim.FaultKillAfter
		}
		faults = append([]sim.Fault{kill}, faults...)
	}
	return faults
}

// change makes one change of a user or a machine, and describes it.
func (c *randomLoad) change(ctx context.Context) (string, error) {
	s := c.session
	number := c.changes + 1
	switch kind := c.random.IntN(10); {
	case len(c.machines) == 0 || kind == 0 && len(c.machines) < randomServices:
		name := fmt.Sprintf("machine-%d", number)
		c.machines = append(c.machines, name)
		return "launch " + name, s.Join(ctx, Machine{Name: name})
	case kind == 1 && c.settled > 1:
		name := c.machines[0]
		c.machines = c.machines[1:]
		c.settled--
		return "terminate " + name, s.Terminate(ctx, name, true)
	case kind < 6 && len(c.services) < randomServices || len(c.services) == 0:
		name := fmt.Sprintf("svc-%d", number)
		c.services = append(c.services, name)
		return "create " + name, s.Put(ctx, loadBalancerService(name, 80, 443))
	case kind == 6 && len(c.stable) > 0:
		name := c.stable[c.random.IntN(len(c.stable))]
		svc := s.services[types.NamespacedName{Namespace: Namespace, Name: name}].DeepCopy()
		return "invalidate " + name, s.Put(ctx, makeInvalid(svc))
	case kind < 8:
		svc := loadBalancerService(c.services[c.random.IntN(len(c.services))], 80, int32(8000+number))
		c.forget(svc.Name)
		svc.Spec.LoadBalancerSourceRanges = []string{fmt.Sprintf("203.0.113.%d/32", number%250)}
		return "change " + svc.Name, s.Put(ctx, svc)
	default:
		i := c.random.IntN(len(c.services))
		name := c.services[i]
		c.services = slices.Delete(c.services, i, i+1)
		c.forget(name)
		return "delete " + name, s.Delete(ctx, name)
	}
}

// forget removes a Service from the stable ones.
func (c *randomLoad) forget(name string) {
	c.stable = slices.DeleteFunc(c.stable, func(s string) bool { return s == name })
}
