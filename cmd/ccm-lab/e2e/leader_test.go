package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// TestLeaderKilled kills the leader of two managers during a call to the cloud, while Services are created. The response
// is lost. The other manager becomes the leader and finishes the work, without duplicates and orphans.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	const leaders, services = 2, 6
	c := newCluster(t, setup{noRoutes: true, flags: []string{
		"--leader-elect=true", "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms",
	}})
	c.must(c.session.JoinN(t.Context(), 3))
	leader := c.replica(0)
	holder := c.awaitLeader("")
	for term := 1; term <= leaders; term++ {
		standby := c.replica(term)
		killed := make(chan struct{})
		front := c.world.Front()
		front.OnKill(func() {
			leader.Kill()
			front.Revive() // The other manager's calls are answered.
			close(killed)
		})
		front.SetFaults(sim.Fault{Kind: sim.FaultKillAfter, Call: 7 * term})
		for i := range services {
			c.must(c.session.Put(t.Context(), service(fmt.Sprintf("web-%d-%d", term, i), 80, 443)))
		}
		select {
		case <-killed:
		case <-standby.Done():
			t.Fatalf("the standby has ended: %v", standby.Err())
		}
		leader, holder = standby, c.awaitLeader(holder)
	}
	c.converge()
	t.Logf("%d Services, %d leaders killed: %s", leaders*services, leaders, tally(c.calls(0)))
	c.clear()
}

// replica starts one more manager, which ends with the test.
func (c *cluster) replica(number int) *lab.Manager {
	c.t.Helper()
	before := c.lastCall()
	options := c.live.Options
	options.Log = c.log(fmt.Sprintf("ccm-%d.log", number))
	manager, err := lab.StartManager(options)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(manager.Kill)
	c.eventually("a first call of the manager", func(context.Context) error {
		if c.lastCall() == before {
			return fmt.Errorf("there is no call after number %d", before)
		}
		return nil
	})
	return manager
}

// awaitLeader waits until another replica than the last holder has the lease, and returns who.
func (c *cluster) awaitLeader(last string) (holder string) {
	c.t.Helper()
	c.eventually("another leader", func(ctx context.Context) error {
		lease, err := c.plane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, leaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		if holder == last || holder == "" {
			return fmt.Errorf("the lease is held by %q", holder)
		}
		return nil
	})
	return holder
}
