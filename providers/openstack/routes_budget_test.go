package openstack

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestHundredNewRoutes(t *testing.T) {
	t.Parallel()
	w := newRouteWorld(t, sim.Options{}, 100)
	w.mustSync()
	w.wantCalls(110)
	w.mustSync()
	w.wantCalls(0)
	if got := len(w.cloud.Routes()); got != 100 {
		t.Errorf("%d routes, want 100", got)
	}
	if pairs := w.pairs(w.nodes[7]); len(pairs) != 1 || pairs[0].IPAddress != w.nodes[7].Spec.PodCIDRs[0] {
		t.Errorf("address pairs of a node's port are %v, want its pod range", pairs)
	}
}

func TestIdleRoutesPerDay(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := newRouteWorld(t, sim.Options{Clock: c, TokenLife: 48 * time.Hour}, 3)
	w.mustSync()
	w.cloud.Front().Log().Reset()
	for range 24 * 60 * 6 {
		c.Step(10 * time.Second)
		if _, err := w.routes.ListRoutes(t.Context(), "kubernetes"); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls(300)
}
