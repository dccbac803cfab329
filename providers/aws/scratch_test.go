package aws_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestScratch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world, err := sim.New(sim.Options{Latency: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		l := &life{T: t, world: world}
		for _, name := range []string{"a", "b", "c"} {
			l.nodes = append(l.nodes, l.join(name))
		}
		cloud, err := managerOn(world, "")(conformance.ManagerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		balancers, _ := cloud.LoadBalancer()
		for i := range 5 {
			l.persist(balancers, numbered(i))
		}
		for _, wait := range []time.Duration{5 * time.Second, 70 * time.Second, 10 * time.Minute} {
			time.Sleep(wait)
			world.Front().Log().Reset()
			l.persist(balancers, numbered(7))
			t.Logf("create after %s: %d %v", wait, world.Front().Log().Len(), world.Front().Log().Count())
			time.Sleep(wait)
			world.Front().Log().Reset()
			if _, exists, err := balancers.GetLoadBalancer(t.Context(), "kubernetes", numbered(7)); err != nil || !exists {
				t.Fatal(err)
			}
			for range 5 {
				if err := balancers.EnsureLoadBalancerDeleted(t.Context(), "kubernetes", numbered(7)); err == nil {
					break
				}
				time.Sleep(5 * time.Second)
			}
			t.Logf("delete after %s: %d %v", wait, world.Front().Log().Len(), world.Front().Log().Count())
		}
	})
}
