package routes

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

func TestHundredNewRoutesCallBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sim.Options{}, 100)
	w.mustSync()
	w.WantCalls(110)
	w.mustSync()
	w.WantCalls(0)
	if got := len(w.Routes()); got != 100 {
		t.Errorf("%d routes, want 100", got)
	}
	if pairs := w.pairs(w.nodes[7]); len(pairs) != 1 || pairs[0].IPAddress != w.nodes[7].Spec.PodCIDRs[0] {
		t.Errorf("address pairs of a node's port are %v, want its pod range", pairs)
	}
}

func TestIdleRoutesCallBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{TokenLife: 48 * time.Hour}, 3)
		w.mustSync()
		w.Front().Log().Reset()
		for range 24 * 60 * 6 {
			time.Sleep(10 * time.Second)
			if _, err := w.routes.ListRoutes(t.Context(), "kubernetes"); err != nil {
				t.Fatal(err)
			}
		}
		w.WantCalls(300)
	})
}
